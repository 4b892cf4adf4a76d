# SPDX-License-Identifier: Apache-2.0
"""A separate engine for the bench, which starts empty and is removed at the end.

A cold build needs an empty engine. The machine's own engine is neither emptied nor stopped; only
its base images are copied, once.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.network import BRIDGE, bridge, undisturbed
from cannery.common import console
from cannery.common.errors import EngineError, Problem
from cannery.common.process import run

RUN = Path("/run/cannery-bench")
"""Socket, pid and lock: short, because a socket's path may not be long."""

DATA = Path("/var/lib/cannery-bench")
"""Images and cache, on the same disk as those of the machine's own engine."""

_CONFIG = Path("/etc/docker/daemon.json")
_KEPT = ("registry-mirrors", "dns", "dns-opts", "dns-search", "proxies", "mtu")
"""Settings of the machine's engine that the builds need, too."""

_TIMEOUT = 60

_REUSED = 65
"""Seconds until ext4 gives the inodes of removed files to new ones (RECENTCY_MIN in the kernel's
fs/ext4/ialloc.c). Before, each new file is a search: a quarter of a cold build's processor time."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A running engine; ``outer`` has the variables that select the machine's own engine."""

    host: str
    outer: dict[str, str]

    def images(self) -> dict[str, str]:
        """Name to id of all images with a name."""
        form = "{{.Repository}}:{{.Tag}} {{.ID}}"
        said = must("docker", "images", "--no-trunc", "--format", form)
        pairs = (line.split() for line in said.splitlines())
        return {name: image for name, image in pairs if "<none>" not in name}

    def remove(self, name: str) -> None:
        """Remove an image; its layers stay in the build cache."""
        must("docker", "image", "rm", "--force", name)

    def require_room(self, size: int, what: str) -> None:
        """Raise EngineError if less than ``size`` bytes are free, which ``what`` takes."""
        if (free := shutil.disk_usage(DATA).free) < size:
            room = f"{size / 1e9:.0f} GB in {DATA}, and only {free / 1e9:.0f} GB are free"
            raise EngineError(Problem(what=f"{what} takes {room}.", fix="Free some space there."))

    def reset(self, keep: tuple[str, ...]) -> None:
        """Remove all images and caches except the images named ``keep``.

        Raises:
            EngineError: an image or a cache is left.
        """
        ids = must("docker", "images", "--all", "--quiet", "--no-trunc").split()
        named = self.images()
        kept = {named[name] for name in keep if name in named}
        if gone := sorted({*ids} - kept):
            run(["docker", "image", "rm", "--force", *gone])
        must("docker", "buildx", "prune", "--all", "--force")
        left = {*self.images().values()} - kept
        if left or must("docker", "buildx", "du", "--verbose").count("\nID:"):
            raise EngineError("the bench's engine could not be emptied, so no build would be cold.")
        os.sync()
        time.sleep(_REUSED)


@contextmanager
def private_engine() -> Iterator[Engine]:
    """Start an engine, point this process and its children at it, and stop it afterwards.

    Raises:
        EngineError: it does not start, or another bench is running.
    """
    if os.geteuid():
        raise EngineError("these figures need a separate engine, and starting one needs root.")
    outer = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    with _alone(), bridge():
        DATA.mkdir(parents=True, exist_ok=True)
        root = Path(tempfile.mkdtemp(prefix="engine-", dir=DATA))
        process: subprocess.Popen[bytes] | None = None
        try:
            process = _start(root)
            for name in _VARIABLES:
                os.environ.pop(name, None)
            os.environ["DOCKER_HOST"] = f"unix://{RUN}/docker.sock"
            os.environ["BUILDX_BUILDER"] = "default"
            _wait(process, root)
            yield Engine(host=os.environ["DOCKER_HOST"], outer=outer)
        finally:
            with undisturbed():
                for name in _VARIABLES:
                    os.environ.pop(name, None)
                os.environ.update(outer)
                if process:
                    _stop(process)
                _clear(root)


_VARIABLES = ("DOCKER_HOST", "DOCKER_CONTEXT", "BUILDX_BUILDER")


@contextmanager
def _alone() -> Iterator[None]:
    RUN.mkdir(parents=True, exist_ok=True)
    with (RUN / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise EngineError("another bench is running on this machine. Wait for it.") from error
        _end_leftover()
        yield


def _start(root: Path) -> subprocess.Popen[bytes]:
    settings = _settings(root)
    config = root / "daemon.json"
    config.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    console.say("starting the bench's engine")
    argv = ["dockerd", "--config-file", str(config)]
    if shutil.which("setpriv"):
        # Stops the engine even if the bench is killed.
        argv = ["setpriv", "--pdeathsig", "TERM", *argv]
    with (root / "dockerd.log").open("wb") as log:
        try:
            return subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        except FileNotFoundError as error:
            what = "dockerd is not installed; the bench starts an engine with it."
            raise EngineError(Problem(what=what, fix="'bash setup.sh' installs it.")) from error


def _settings(root: Path) -> dict[str, object]:
    try:
        own = json.loads(_CONFIG.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        own = {}
    return {
        **{name: own[name] for name in _KEPT if name in own},
        "data-root": str(root / "data"),
        "exec-root": str(RUN / "exec"),
        "pidfile": str(RUN / "dockerd.pid"),
        "hosts": [f"unix://{RUN}/docker.sock"],
        "bridge": BRIDGE,
        "iptables": False,
        "ip6tables": False,
        "ip-masq": False,
        "userland-proxy": False,
        "storage-driver": "overlay2",
        "containerd-namespace": "cannery-bench",
        "containerd-plugins-namespace": "cannery-bench-plugins",
        "builder": {"gc": {"enabled": False}},
        # storage.py can read the layers of this store only.
        "features": {"containerd-snapshotter": False},
    }


def _wait(process: subprocess.Popen[bytes], root: Path) -> None:
    end = time.monotonic() + _TIMEOUT
    while time.monotonic() < end and process.poll() is None:
        if run(["docker", "info"])[0] == 0:
            return
        time.sleep(0.5)
    said = (root / "dockerd.log").read_text(encoding="utf-8", errors="replace")
    raise EngineError(f"the bench's engine does not answer. The end of its log:\n{said[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    console.say("stopping the bench's engine")
    process.terminate()
    try:
        process.wait(timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_leftover() -> None:
    """Stop the engine of a bench that was killed, and remove its files."""
    try:
        pid = int((RUN / "dockerd.pid").read_text(encoding="utf-8"))
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    except (OSError, ValueError):
        words = []
    if any(word.startswith(f"{DATA}/") for word in words):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        for _ in range(2 * _TIMEOUT):
            if not Path(f"/proc/{pid}").exists():
                break
            time.sleep(0.5)
    for root in DATA.glob("engine-*"):
        _clear(root)


def _clear(root: Path) -> None:
    """Unmount everything below ``root`` and the run folder, and remove ``root``."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    mounts = [line.split()[4] for line in lines]
    for mount in sorted(mounts, reverse=True):
        if mount.startswith((f"{root}/", f"{RUN}/exec/")):
            run(["umount", "--lazy", mount])
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(RUN / "exec", ignore_errors=True)
    (RUN / "dockerd.pid").unlink(missing_ok=True)


def must(*argv: str) -> str:
    """Run a command and return its output.

    Raises:
        EngineError: the command failed.
    """
    code, said = run(argv)
    if code:
        raise EngineError(f"'{' '.join(argv)}' failed ({code}): {said.strip()[-1500:]}")
    return said


def hand_over(engine: Engine, reference: str) -> bool:
    """Copy an image of the machine's own engine to ``engine``; False if there is none."""
    outer = {**dict.fromkeys(_VARIABLES, ""), **engine.outer}
    environment = {k: v for k, v in {**os.environ, **outer}.items() if v}
    found = subprocess.run(
        ["docker", "image", "inspect", reference], env=environment, capture_output=True, check=False
    )
    if found.returncode:
        return False
    console.say(f"copying {reference} to the bench's engine")
    with subprocess.Popen(
        ["docker", "save", reference], env=environment, stdout=subprocess.PIPE
    ) as saving:
        loaded = subprocess.run(
            ["docker", "load", "--quiet"], stdin=saving.stdout, capture_output=True, check=False
        )
    if saving.returncode or loaded.returncode:
        said = loaded.stderr.decode(errors="replace").strip()
        raise EngineError(f"{reference} could not be copied to the bench's engine: {said}.")
    return True
