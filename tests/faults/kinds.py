# SPDX-License-Identifier: Apache-2.0
"""The kinds of faults. Each begins before or during a run, and is over when its block ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.faults.gate import Gate, gate
from tests.faults.site import Running, Site
from tests.faults.state import tags_of
from tests.publish.servers import Fault as LineFault

IMAGE_COMMANDS = ("build", "resume", "verify", "push", "bundle")
"""Those that use the engine."""
BUILDING = ("build", "resume", "bundle")
REGISTRY_COMMANDS = ("push", "promote", "prune")
ALL = (*IMAGE_COMMANDS, "promote", "prune")

Strike = Callable[[Running], None]
"""Is called during the run."""


@dataclass(kw_only=True)
class Fault:
    """A fault that has begun: what it adds to the environment, and what happens during the run.

    ``others`` are runs that were started beside the run.
    """

    environment: dict[str, str] = field(default_factory=dict)
    strike: Strike | None = None
    others: list[Running] = field(default_factory=list)
    commands: tuple[str, ...] = ()


Begin = Callable[[Site, Random], AbstractContextManager[Fault]]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """``cause`` is what a failure must say, and ``share`` how often the kind is chosen.

    ``code`` is how a run ends that the fault stops. ``kills`` says that it leaves no time to tidy.
    """

    begin: Begin
    commands: tuple[str, ...]
    cause: str
    share: int = 1
    stops: bool = False
    kills: bool = False


def _send(name: str, *, group: bool) -> Begin:
    @contextmanager
    def begin(_: Site, __: Random) -> Iterator[Fault]:
        def strike(running: Running) -> None:
            with suppress(ProcessLookupError):
                send = os.killpg if group else os.kill
                send(running.process.pid, signal.Signals[name])

        yield Fault(strike=strike)

    return begin


@contextmanager
def _engine_killed(site: Site, _: Random) -> Iterator[Fault]:
    yield Fault(strike=lambda _: site.engine.kill())
    if site.engine.process and site.engine.process.poll() is not None:
        site.engine.start()


@contextmanager
def _engine_stopped(site: Site, _: Random) -> Iterator[Fault]:
    with suppress(FileNotFoundError):
        site.engine.terminate()
    yield Fault()
    site.engine.start()


@contextmanager
def _engine_restarted(site: Site, _: Random) -> Iterator[Fault]:
    def strike(_: Running) -> None:
        site.engine.terminate()
        site.engine.start()

    yield Fault(strike=strike)


def _through(act: Callable[[Gate, Random], None], *, late: bool) -> Begin:
    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        with gate(site.engine.host, site.folder / "gate.sock") as opened:
            if not late:
                act(opened, random)
            strike = (lambda _: act(opened, random)) if late else None
            yield Fault(environment={"DOCKER_HOST": opened.host}, strike=strike)

    return begin


def _slow(opened: Gate, random: Random) -> None:
    opened.delay = random.choice([0.01, 0.05, 0.1])


@contextmanager
def filled(folder: Path, left: int) -> Iterator[None]:
    """Let the disk of ``folder`` have ``left`` bytes."""
    filler = folder / "filler"
    with filler.open("wb") as out:
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        with suppress(OSError):
            os.posix_fallocate(out.fileno(), 0, max(free - left, 4096))
    try:
        yield
    finally:
        filler.unlink()


def _full(place: str, most: int) -> Begin:
    """``most`` is what a run writes there; the disk has a random part of that."""

    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        with filled(site.folder / place, random.randrange(most)):
            yield Fault()

    return begin


def _remounted(place: str, options: Callable[[Path, Random], str], usual: str) -> Begin:
    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        folder = site.folder / place
        _remount(folder, options(folder, random))
        try:
            yield Fault()
        finally:
            _remount(folder, usual)

    return begin


def _remount(folder: Path, options: str) -> None:
    argv = ["mount", "-o", f"remount,{options}", str(folder)]
    subprocess.run(argv, check=True, capture_output=True)


def _few_inodes(folder: Path, random: Random) -> str:
    found = os.statvfs(folder)
    return f"nr_inodes={found.f_files - found.f_ffree + random.randrange(12)}"


def _read_only(place: str) -> Begin:
    return _remounted(place, lambda *_: "ro", "rw")


def _no_inodes(place: str) -> Begin:
    return _remounted(place, _few_inodes, "nr_inodes=100000")


_UPLOAD = (
    *("^HEAD .*/blobs/", "^PUT .*/blobs/", "^POST .*/uploads/", "^GET .*/case/.*/blobs/"),
    *("^PUT .*/manifests/sha256", "^GET .*/manifests/", "^HEAD .*/manifests/"),
    *("^PUT .*/manifests/(tiny|latest)", "^PUT .*/manifests/tiny$", "^PUT .*/manifests/latest"),
)
_REQUESTS = {
    "push": (*_UPLOAD, "^GET .*/tags/", "."),
    "promote": (*_UPLOAD, "^GET .*/seed/.*/blobs/", "^GET .*/seed/.*/manifests/", "."),
    "prune": ("^GET .*/tags/", "^HEAD .*/manifests/", "^GET .*/manifests/", "^DELETE ", "."),
}
"""What each command asks a registry."""


def _answering(**more: object) -> Begin:
    """A fault of some requests, once or for long, from the beginning or from some moment on."""

    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        fault = LineFault(
            random.choice(_REQUESTS[site.command]),
            times=random.choice([1, 2, 5, 5 if "meanwhile" in more else 1_000_000]),
            **more,  # type: ignore[arg-type]
        )
        if fault.after == 0:
            fault.after = random.randrange(150_000)
        with _on_line(site, fault, late=random.random() < 0.3) as begun:
            yield begun

    return begin


@contextmanager
def _on_line(site: Site, fault: LineFault, *, late: bool) -> Iterator[Fault]:
    site.line.faults.extend([] if late else [fault])
    strike = (lambda _: site.line.faults.append(fault)) if late else None
    try:
        yield Fault(strike=strike)
    finally:
        site.line.faults.clear()


@contextmanager
def _lost_blob(site: Site, random: Random) -> Iterator[Fault]:
    """A layer that the registry has accepted is gone a little later."""
    repositories = site.folder / "registry/data/docker/registry/v2/repositories"
    layers = repositories / "case/ascend/_layers/sha256"
    old = {path.name for path in (repositories / "old/ascend/_layers/sha256").iterdir()}

    def lose() -> None:
        # Losing one of the old image would not be a fault of this push.
        new = sorted(path for path in layers.iterdir() if path.name not in old)
        if new:
            shutil.rmtree(new[-1], ignore_errors=True)

    patterns = ["^PUT .*/manifests/sha256", "^GET .*/manifests/sha256", "^HEAD .*/blobs/"]
    fault = LineFault(random.choice(patterns), times=1, meanwhile=lose)
    with _on_line(site, fault, late=False) as begun:
        yield begun


@contextmanager
def _registry_restarted(site: Site, _: Random) -> Iterator[Fault]:
    yield Fault(strike=lambda _: site.server.stop())
    site.server.start()


@contextmanager
def _clock(site: Site, random: Random) -> Iterator[Fault]:
    library = _clock_library(site.folder)
    day = 86_400
    seconds = random.choice([-1, 1]) * random.choice([61, day, 400 * day, 4_000 * day])
    calls = random.choice([0, random.randrange(400)])
    jump = {"LD_PRELOAD": str(library), "FAULT_CLOCK": f"{calls}:{seconds}"}
    yield Fault(environment=jump)


def _clock_library(folder: Path) -> Path:
    library = folder / "clock.so"
    if not library.exists():
        source = Path(__file__).with_name("clock.c")
        argv = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(argv, check=True, capture_output=True)
    return library


def _beside(other: Callable[[Site, tuple[str, ...]], Running]) -> Begin:
    @contextmanager
    def begin(site: Site, _: Random) -> Iterator[Fault]:
        fault = Fault()
        fault.strike = lambda _: fault.others.append(other(site, fault.commands))
        yield fault

    return begin


def _in_copy(site: Site, words: tuple[str, ...]) -> Running:
    """The same command in a copy of the checkout, which is of another folder."""
    copy = site.folder / "home" / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns(".cannery", "__pycache__", "*.tar", ".bundle*")
    shutil.copytree(site.root, copy, symlinks=True, ignore=ignored)
    return site.start_in(copy, *words)


_HUNGRY = "set -e; head -c 60000000 /dev/zero | tail -n 1 >/dev/null"


@contextmanager
def _little_memory(site: Site, _: Random) -> Iterator[Fault]:
    """A step that needs 60 MB, where an engine's containers may have 24 MB in all."""
    limit = memory_limit(site.engine.number)
    site.step = _HUNGRY
    site.new_toolkit(_HUNGRY)
    before = limit.read_text(encoding="utf-8").strip()
    limit.write_text(str(24 << 20), encoding="utf-8")
    try:
        yield Fault()
    finally:
        # The highest limit is shown as a number that is not taken back.
        limit.write_text(before if limit.name == "memory.max" else "-1", encoding="utf-8")


def memory_limit(number: int) -> Path:
    """The file with the limit of all containers of the engine ``number``."""
    first = Path("/sys/fs/cgroup/memory") / f"cannery-t{number}" / "memory.limit_in_bytes"
    return first if first.exists() else Path(f"/sys/fs/cgroup/cannery-t{number}/memory.max")


def _hub(**more: object) -> Begin:
    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        site.new_base()
        pattern = random.choice(["^GET .*/hub/debian/manifests/", "^GET .*/hub/debian/blobs/"])
        times = random.choice([1, 3, 1_000_000])
        fault = LineFault(pattern, times=times, **more)  # type: ignore[arg-type]
        with _on_line(site, fault, late=False) as begun:
            begun.environment = {"PATH": f"{_without_mirror(site.folder)}:{os.environ['PATH']}"}
            yield begun

    return begin


def _without_mirror(folder: Path) -> Path:
    """A folder with an mmdebstrap that reaches no mirror, so that no base is bootstrapped."""
    program = folder / "home" / "bin" / "mmdebstrap"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\necho 'E: no mirror can be reached'\nexit 25\n")
    program.chmod(0o755)
    return program.parent


@contextmanager
def _another_base(site: Site, _: Random) -> Iterator[Fault]:
    """The hub serves another base under the tag of the right one."""
    tag, other = site.new_base(), tags_of(site, "hub/debian")["13"]
    tags = site.folder / "registry/data/docker/registry/v2/repositories/hub/debian/_manifests/tags"
    (tags / tag / "current" / "link").write_text(other, encoding="utf-8")
    yield Fault()


def _status(code: int) -> Mapping[str, object]:
    return {"status": code, "headers": {"Retry-After": "0"} if code in (429, 503) else {}}


_ENGINE = r"engine|[Dd]ocker|builder|buildkit|socket"
_DISK = r"[Nn]o space left|disk is full|[Dd]isk"
_READ_ONLY = r"[Rr]ead-only file system"
_REGISTRY = r"127\.0\.0\.1:\d+"

KINDS: Mapping[str, Kind] = {
    "kill -9": Kind(
        begin=_send("SIGKILL", group=False), commands=ALL, cause="", share=8, stops=True, kills=True
    ),
    "SIGTERM": Kind(
        begin=_send("SIGTERM", group=False), commands=ALL, cause="interrupted", share=7, stops=True
    ),
    "Ctrl-C": Kind(
        begin=_send("SIGINT", group=True), commands=ALL, cause="interrupted", share=7, stops=True
    ),
    "engine killed": Kind(begin=_engine_killed, commands=IMAGE_COMMANDS, cause=_ENGINE, share=3),
    "engine stopped": Kind(begin=_engine_stopped, commands=IMAGE_COMMANDS, cause=_ENGINE),
    "engine restarted": Kind(
        begin=_engine_restarted, commands=IMAGE_COMMANDS, cause=_ENGINE, share=2
    ),
    "engine slow": Kind(
        begin=_through(_slow, late=False), commands=IMAGE_COMMANDS, cause=_ENGINE, share=2
    ),
    "engine's socket gone": Kind(
        begin=_through(lambda opened, _: opened.close(), late=True),
        commands=IMAGE_COMMANDS,
        cause=_ENGINE,
        share=3,
    ),
    "engine's disk full": Kind(
        begin=_full("storage", 3_000_000), commands=("build", "resume"), cause=_DISK, share=3
    ),
    "checkout's disk full": Kind(
        begin=_full("checkout", 20_000), commands=("push", "bundle"), cause=_DISK, share=2
    ),
    "cache's disk full": Kind(
        begin=_full("checkout/.cannery", 400_000), commands=ALL, cause=_DISK, share=3
    ),
    "/tmp full": Kind(begin=_full("tmp", 60_000), commands=ALL, cause=_DISK, share=3),
    "checkout read-only": Kind(
        begin=_read_only("checkout"), commands=ALL, cause=_READ_ONLY, share=2
    ),
    "cache read-only": Kind(
        begin=_read_only("checkout/.cannery"), commands=ALL, cause=_READ_ONLY, share=2
    ),
    "/tmp read-only": Kind(
        begin=_read_only("tmp"), commands=ALL, cause=_READ_ONLY + "|temporary", share=2
    ),
    "checkout without inodes": Kind(
        begin=_no_inodes("checkout"), commands=("push", "bundle"), cause=_DISK
    ),
    "cache without inodes": Kind(
        begin=_no_inodes("checkout/.cannery"), commands=ALL, cause=_DISK, share=2
    ),
    "/tmp without inodes": Kind(begin=_no_inodes("tmp"), commands=ALL, cause=_DISK + "|temporary"),
    "registry's disk full": Kind(
        begin=_full("registry/data", 100_000), commands=REGISTRY_COMMANDS, cause=_DISK, share=2
    ),
    "registry dies": Kind(
        begin=_registry_restarted, commands=REGISTRY_COMMANDS, cause=_REGISTRY, share=2
    ),
    "registry drops": Kind(
        begin=_answering(after=0), commands=REGISTRY_COMMANDS, cause=_REGISTRY, share=4
    ),
    "registry resets": Kind(
        begin=_answering(), commands=REGISTRY_COMMANDS, cause=_REGISTRY, share=4
    ),
    "registry stalls": Kind(
        begin=_answering(meanwhile=lambda: time.sleep(3)),
        commands=REGISTRY_COMMANDS,
        cause=_REGISTRY,
        share=2,
    ),
    "registry flips a bit": Kind(
        begin=_answering(flips=True), commands=REGISTRY_COMMANDS, cause=_REGISTRY, share=6
    ),
    "registry answers 401": Kind(
        begin=_answering(**_status(401)), commands=REGISTRY_COMMANDS, cause="login", share=3
    ),
    "registry answers 429": Kind(
        begin=_answering(**_status(429)),
        commands=REGISTRY_COMMANDS,
        cause="rate limit|429|[Tt]oo [Mm]any",
        share=3,
    ),
    "registry answers 500": Kind(
        begin=_answering(**_status(500)), commands=REGISTRY_COMMANDS, cause="500|Internal", share=3
    ),
    "registry answers 503": Kind(
        begin=_answering(**_status(503)),
        commands=REGISTRY_COMMANDS,
        cause="503|Unavailable",
        share=3,
    ),
    "registry loses a blob": Kind(
        begin=_lost_blob, commands=("push", "promote"), cause=_REGISTRY, share=4
    ),
    "clock jumps": Kind(begin=_clock, commands=ALL, cause="certificate|clock", share=5),
    "two runs in a checkout": Kind(
        begin=_beside(lambda site, words: site.start(*words)),
        commands=ALL,
        cause="another run|another process|[Ss]omebody|goes on",
        share=5,
    ),
    "two checkouts, one engine": Kind(
        begin=_beside(_in_copy),
        commands=("build", "verify", "push"),
        cause="another|[Ss]omebody|have not all passed",
        share=3,
    ),
    "too little memory": Kind(
        begin=_little_memory, commands=("build",), cause="137|[Kk]illed|memory", share=2
    ),
    "hub serves another base": Kind(
        begin=_another_base, commands=("build",), cause=_REGISTRY, share=3
    ),
    "hub flips a bit": Kind(begin=_hub(flips=True), commands=("build",), cause=_REGISTRY, share=2),
    "hub answers 429": Kind(
        begin=_hub(**_status(429)), commands=("build",), cause="429|[Tt]oo ?[Mm]any", share=1
    ),
    "hub breaks off": Kind(begin=_hub(), commands=("build",), cause=_REGISTRY, share=1),
}
