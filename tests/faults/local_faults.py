# SPDX-License-Identifier: Apache-2.0
"""Faults of this machine: signals, its engine, its disks, and other runs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.faults.site import Running, Site
from tests.faults.state import orphans


@dataclass(kw_only=True)
class Fault:
    """A fault that has begun: what happens during the run.

    ``others`` are runs that were started beside the run, which has the words ``commands``.
    """

    strike: Callable[[Running], None] | None = None
    others: list[Running] = field(default_factory=list)
    commands: tuple[str, ...] = ()


Begin = Callable[[Site, Random], AbstractContextManager[Fault]]


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


def read_only(place: str) -> Begin:
    @contextmanager
    def begin(site: Site, _: Random) -> Iterator[Fault]:
        folder = site.folder / place
        # A disk to which a killed run still writes cannot be made read-only.
        orphans(site)
        remount(folder, "ro")
        try:
            yield Fault()
        finally:
            remount(folder, "rw")

    return begin


def remount(folder: Path, options: str) -> None:
    argv = ["mount", "-o", f"remount,{options}", str(folder)]
    subprocess.run(argv, check=True, capture_output=True)


@contextmanager
def second_run(site: Site, _: Random) -> Iterator[Fault]:
    """The same command in the same checkout."""
    fault = Fault()
    fault.strike = lambda _: fault.others.append(site.start(*fault.commands))
    yield fault
