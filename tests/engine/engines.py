# SPDX-License-Identifier: Apache-2.0
"""More engines on this machine, with storage of their own, and a registry.

Each engine gets a bridge of its own and keeps its hands off the firewall, so that the engine that
runs here already does not notice: one that shares its bridge, or has none, would take it away.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {root}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""

PROXY = """
import os, socket, subprocess, sys, threading
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
while True:
    connection, _ = listener.accept()
    # Two processes' ends of one socket: what one writes the other reads.
    subprocess.Popen(
        ["docker", "buildx", "dial-stdio"], stdin=connection, stdout=connection, close_fds=True
    )
    connection.close()
"""


@dataclass(kw_only=True)
class Engine:
    """``number`` tells it from the others, ``argv`` starts it, and it stores things in ``data``."""

    number: int
    host: str
    folder: Path
    data: Path
    argv: Sequence[str]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "engine.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.argv, stdout=log, stderr=log, start_new_session=True
            )
        _wait(self.process, self.host, self.folder / "engine.log")

    def terminate(self) -> None:
        """Stop it as a service manager does."""
        if self.process:
            _stop(self.process)

    def stop(self) -> None:
        """Stop it, and unmount what it has left mounted."""
        self.terminate()
        self._end_rest()
        for folder in (self.folder, self.data):
            unmount_below(folder)

    def kill(self) -> None:
        """End it as a machine does that is out of memory; containers continue."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def _end_rest(self) -> None:
        """End containerd and its containers, which a killed engine leaves.

        The first process of a container is a child of one of containerd's, and ends its others.
        """
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if f"{self.folder}/exec/" in path.read_text(encoding="utf-8", errors="replace"):
                    for pid in (*_children(path.parent), path.parent.name):
                        os.kill(int(pid), signal.SIGKILL)

    def docker(self, *words: str, **more: object) -> str:
        done = subprocess.run(
            ["docker", *words],
            env={**os.environ, "DOCKER_HOST": self.host},
            capture_output=True,
            text=True,
            check=False,
            **more,  # type: ignore[call-overload]
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return str(done.stdout).strip()


def _children(process: Path) -> list[str]:
    """The children of a process, by its folder in /proc."""
    return " ".join(each.read_text() for each in process.glob("task/*/children")).split()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=30)
        return
    process.kill()
    process.wait()


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """The address of a registry that keeps what it has below ``folder``."""
    port = free_port()
    (folder / "registry.yml").write_text(CONFIG.format(root=folder / "registry", port=port))
    with (folder / "registry.log").open("wb") as log:
        argv = ["docker-registry", "serve", str(folder / "registry.yml")]
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        for _ in range(100):
            assert process.poll() is None, (folder / "registry.log").read_text()
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=5).close()
                break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        _stop(process)


@contextmanager
def without_route(number: int) -> Iterator[tuple[str, ...]]:
    """A network namespace with nothing but its loopback, and the words that run a command in it."""
    name = f"cannery-t{number}"
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    _ip("netns", "add", name)
    try:
        # 'ip netns exec' would hide the control groups, which an engine needs.
        inside = ("nsenter", f"--net=/run/netns/{name}")
        subprocess.run([*inside, "ip", "link", "set", "lo", "up"], check=True)
        yield inside
    finally:
        _ip("netns", "delete", name)


def unmount_below(folder: Path) -> None:
    """Unmount everything below ``folder``, and ``folder`` itself."""
    text = Path("/proc/self/mounts").read_text(encoding="utf-8")
    places = [line.split()[1].replace("\\040", " ") for line in text.splitlines()]
    for place in reversed(places):
        if Path(place).is_relative_to(folder):
            subprocess.run(["umount", "--lazy", place], capture_output=True, check=False)


@contextmanager
def engine(
    folder: Path,
    number: int,
    *,
    containerd: bool,
    inside: tuple[str, ...] = (),
    data: Path | None = None,
    options: tuple[str, ...] = (),
) -> Iterator[Engine]:
    """An engine with empty storage; ``number`` tells it from the others.

    ``folder`` holds its socket and its log. ``data`` is the folder of what it stores; without it,
    that is beside what the machine's own engine stores, where there is room: a folder for temporary
    files may be small, or in memory. ``inside`` are the words that run a command in another network
    namespace, and ``options`` are more options of dockerd.
    """
    place = data or beside_own_storage()
    bridge, name = f"cannery-t{number}", f"10.213.{number}.1/24"
    host = f"unix://{folder}/docker.sock"
    # A bridge without an address of its own takes those of containers that come and go.
    mac = f"02:63:61:6e:74:{number:02x}"
    # A run of the tests that was killed has left its bridge.
    subprocess.run([*inside, "ip", "link", "delete", bridge], capture_output=True, check=False)
    _ip("link", "add", "name", bridge, "address", mac, "type", "bridge", inside=inside)
    # Stops it even if the tests are killed.
    argv = [*inside, "setpriv", "--pdeathsig", "TERM", "dockerd"]
    argv += ["--host", host, "--data-root", str(place)]
    argv += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/docker.pid"]
    argv += ["--bridge", bridge, "--iptables=false", "--ip6tables=false"]
    argv += ["--config-file", str(folder / "daemon.json"), *options]
    started = Engine(number=number, host=host, folder=folder, data=place, argv=argv)
    try:
        _ip("address", "add", name, "dev", bridge, inside=inside)
        _ip("link", "set", bridge, "up", inside=inside)
        on = "true" if containerd else "false"
        (folder / "daemon.json").write_text(
            f'{{"features": {{"containerd-snapshotter": {on}}}}}', encoding="utf-8"
        )
        started.start()
        yield started
    finally:
        started.stop()
        _ip("link", "delete", bridge, inside=inside)
        shutil.rmtree(place, ignore_errors=True)


def beside_own_storage() -> Path:
    """A new folder beside what the machine's own engine stores."""
    own = subprocess.run(
        ["docker", "info", "--format", "{{.DockerRootDir}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    parent = Path(own.stdout.strip()).parent
    return Path(tempfile.mkdtemp(prefix="cannery-test-", dir=parent))


def _wait(process: subprocess.Popen[bytes], host: str, log: Path) -> None:
    for _ in range(300):
        assert process.poll() is None, log.read_text()[-3000:]
        done = subprocess.run(["docker", "--host", host, "info"], capture_output=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text()[-3000:])


def _ip(*words: str, inside: tuple[str, ...] = ()) -> None:
    subprocess.run([*inside, "ip", *words], check=True, capture_output=True)


@contextmanager
def buildkit_socket(engine: Engine, folder: Path) -> Iterator[str]:
    """A socket on which the BuildKit of ``engine`` answers, as that of a remote builder does."""
    path = folder / "buildkit.sock"
    process = subprocess.Popen(
        ["python3", "-c", PROXY, str(path)],
        env={**os.environ, "DOCKER_HOST": engine.host, "BUILDX_BUILDER": "default"},
        start_new_session=True,
    )
    try:
        while not path.exists():
            assert process.poll() is None
            time.sleep(0.05)
        yield f"unix://{path}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


_FIRST, _COUNT = 1_000_000, 65536
"""The users of the machine that are those of the namespace, beginning with its root."""


@contextmanager
def _namespaces() -> Iterator[tuple[str, ...]]:
    """The words that run a command as an unprivileged user, who is root of its namespaces."""
    words = ["unshare", "--user", "--net", "--mount", "--propagation", "slave"]
    with subprocess.Popen([*words, "sleep", "infinity"]) as holder:
        own = Path(f"/proc/{holder.pid}")
        try:
            while (own / "comm").read_text() != "sleep\n":
                assert holder.poll() is None
                time.sleep(0.01)
            for name in ("uid_map", "gid_map"):
                (own / name).write_text(f"0 {_FIRST} {_COUNT}\n")
            into = ("--user", "--net", "--mount", "--setuid=0", "--setgid=0")
            inside = ("nsenter", f"--target={holder.pid}", *into)
            script = "mount -t tmpfs tmpfs /run && ip link set lo up"
            subprocess.run([*inside, "sh", "-c", script], check=True)
            yield inside
        finally:
            holder.kill()


@contextmanager
def rootless_engine(number: int) -> Iterator[tuple[Engine, tuple[str, ...]]]:
    """An engine, and the words that run a command in its network; ``number`` tells it apart."""
    folder = beside_own_storage()
    os.chown(folder, _FIRST, _FIRST)
    try:
        with _namespaces() as inside:
            settings = (f"XDG_RUNTIME_DIR={folder}", f"ROOTLESSKIT_STATE_DIR={folder}")
            with engine(
                folder,
                number,
                containerd=False,
                inside=(*inside, "env", *settings),
                data=folder / "data",
                options=("--rootless",),
            ) as started:
                yield started, (*inside[:2], "--net")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
