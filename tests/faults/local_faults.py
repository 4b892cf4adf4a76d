# SPDX-License-Identifier: Apache-2.0
"""Faults of this machine: signals, its engine, its disks, its clock, and other runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from tests.faults.fault import Begin, Fault
from tests.faults.gate import Gate, gate
from tests.faults.site import Running, Site
from tests.faults.state import orphans


def send(name: str, *, group: bool) -> Begin:
    @contextmanager
    def begin(_: Site, __: Random) -> Iterator[Fault]:
        def strike(running: Running) -> None:
            with suppress(ProcessLookupError):
                send = os.killpg if group else os.kill
                send(running.process.pid, signal.Signals[name])

        yield Fault(strike=strike)

    return begin


@contextmanager
def engine_killed(site: Site, _: Random) -> Iterator[Fault]:
    yield Fault(strike=lambda _: site.engine.kill())
    if site.engine.process and site.engine.process.poll() is not None:
        site.engine.start()


@contextmanager
def engine_stopped(site: Site, _: Random) -> Iterator[Fault]:
    with suppress(FileNotFoundError):
        site.engine.terminate()
    yield Fault()
    site.engine.start()


@contextmanager
def engine_restarted(site: Site, _: Random) -> Iterator[Fault]:
    def strike(_: Running) -> None:
        site.engine.terminate()
        site.engine.start()

    yield Fault(strike=strike)


def through(act: Callable[[Gate, Random], None], *, late: bool) -> Begin:
    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        with gate(site.engine.host, site.folder / "gate.sock") as opened:
            if not late:
                act(opened, random)
            strike = (lambda _: act(opened, random)) if late else None
            yield Fault(environment={"DOCKER_HOST": opened.host}, strike=strike)

    return begin


def slow(opened: Gate, random: Random) -> None:
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


def full(place: str, most: int) -> Begin:
    """``most`` is what a run writes there; the disk has a random part of that."""

    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        with filled(site.folder / place, random.randrange(most)):
            yield Fault()

    return begin


def remounted(place: str, options: Callable[[Path, Random], str], usual: str) -> Begin:
    @contextmanager
    def begin(site: Site, random: Random) -> Iterator[Fault]:
        folder = site.folder / place
        # A disk to which a killed run still writes cannot be made read-only.
        orphans(site)
        remount(folder, options(folder, random))
        try:
            yield Fault()
        finally:
            remount(folder, usual)

    return begin


def remount(folder: Path, options: str) -> None:
    argv = ["mount", "-o", f"remount,{options}", str(folder)]
    subprocess.run(argv, check=True, capture_output=True)


def few_inodes(folder: Path, random: Random) -> str:
    found = os.statvfs(folder)
    return f"nr_inodes={found.f_files - found.f_ffree + random.randrange(12)}"


def read_only(place: str) -> Begin:
    return remounted(place, lambda *_: "ro", "rw")


def no_inodes(place: str) -> Begin:
    return remounted(place, few_inodes, "nr_inodes=100000")


@contextmanager
def clock(site: Site, random: Random) -> Iterator[Fault]:
    library = clock_library(site.folder)
    day = 86_400
    seconds = random.choice([-1, 1]) * random.choice([61, day, 400 * day, 4_000 * day])
    calls = random.choice([0, random.randrange(400)])
    jump = {"LD_PRELOAD": str(library), "FAULT_CLOCK": f"{calls}:{seconds}"}
    yield Fault(environment=jump)


def clock_library(folder: Path) -> Path:
    library = folder / "clock.so"
    if not library.exists():
        source = Path(__file__).with_name("clock.c")
        argv = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(argv, check=True, capture_output=True)
    return library


def beside(other: Callable[[Site, tuple[str, ...]], Running]) -> Begin:
    @contextmanager
    def begin(site: Site, _: Random) -> Iterator[Fault]:
        fault = Fault()
        fault.strike = lambda _: fault.others.append(other(site, fault.commands))
        yield fault

    return begin


def in_copy(site: Site, words: tuple[str, ...]) -> Running:
    """The same command in a copy of the checkout, which is of another folder."""
    copy = site.folder / "home" / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns(".cannery", "__pycache__")
    shutil.copytree(site.root, copy, symlinks=True, ignore=ignored)
    return site.start_in(copy, *words)


_HUNGRY = "set -e; head -c 60000000 /dev/zero | tail -n 1 >/dev/null"


@contextmanager
def little_memory(site: Site, _: Random) -> Iterator[Fault]:
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
