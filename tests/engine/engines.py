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
from collections.abc import Iterator
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


@dataclass(frozen=True, kw_only=True)
class Engine:
    host: str
    folder: Path

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


@contextmanager
def engine(
    folder: Path, number: int, *, containerd: bool, inside: tuple[str, ...] = ()
) -> Iterator[Engine]:
    """An engine with empty storage; ``number`` tells it from the others.

    ``folder`` holds its socket and its log. What it stores is beside what the machine's own engine
    does, where there is room: a folder for temporary files may be small, or in memory. ``inside``
    are the words that run a command in another network namespace.
    """
    beside = subprocess.run(
        ["docker", "info", "--format", "{{.DockerRootDir}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    data = tempfile.mkdtemp(prefix="cannery-test-", dir=Path(beside.stdout.strip()).parent)
    bridge, name = f"cannery-t{number}", f"10.213.{number}.1/24"
    host = f"unix://{folder}/docker.sock"
    # A bridge without an address of its own takes those of containers that come and go.
    mac = f"02:63:61:6e:74:{number:02x}"
    # A run of the tests that was killed has left its bridge.
    subprocess.run([*inside, "ip", "link", "delete", bridge], capture_output=True, check=False)
    _ip("link", "add", "name", bridge, "address", mac, "type", "bridge", inside=inside)
    try:
        _ip("address", "add", name, "dev", bridge, inside=inside)
        _ip("link", "set", bridge, "up", inside=inside)
        argv = [*inside, "dockerd", "--host", host, "--data-root", data]
        argv += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/docker.pid"]
        argv += ["--bridge", bridge, "--iptables=false", "--ip6tables=false"]
        argv += ["--config-file", str(folder / "daemon.json")]
        on = "true" if containerd else "false"
        (folder / "daemon.json").write_text(
            f'{{"features": {{"containerd-snapshotter": {on}}}}}', encoding="utf-8"
        )
        with (folder / "engine.log").open("wb") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait(process, host, folder / "engine.log")
            yield Engine(host=host, folder=folder)
        finally:
            _stop(process)
    finally:
        _ip("link", "delete", bridge, inside=inside)
        shutil.rmtree(data, ignore_errors=True)


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
