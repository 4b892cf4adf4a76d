# SPDX-License-Identifier: Apache-2.0
"""Runs a command and records its duration and its output."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.steps import Step, parse, reused
from cannery.common.errors import CanneryError, EngineError, Problem
from cannery.common.process import stream


@dataclass(frozen=True, kw_only=True)
class Timed:
    """The duration and the output of a command."""

    seconds: float
    lines: tuple[str, ...]
    logs: tuple[Path, ...] = ()
    """Files with further output."""
    processor: float = 0.0
    """The seconds for which processors of this machine worked meanwhile, for whatever program."""

    @property
    def steps(self) -> list[Step]:
        """The steps of BuildKit in the output and the logs."""
        said = [*self.lines]
        for log in self.logs:
            said += log.read_text(encoding="utf-8", errors="replace").splitlines()
        return parse(said)


def timed(argv: Sequence[str], log: Path) -> Timed:
    """Run ``argv`` and write its output to ``log``. All pending writes are synced first.

    Raises:
        CanneryError: the command failed.
        EngineError: the command is not installed.
    """
    lines: list[str] = []
    log.parent.mkdir(parents=True, exist_ok=True)
    os.sync()
    with log.open("w", encoding="utf-8") as file:
        worked = processor_seconds()
        start = time.monotonic()

        def heard(line: str) -> None:
            lines.append(line.rstrip("\n"))
            file.write(line)

        code = stream(argv, heard, os.environ)  # build.py takes the engine and the index from it
        seconds = time.monotonic() - start
        worked = processor_seconds() - worked
    if code:
        said = "\n".join(lines[-15:])
        what = f"'{' '.join(argv[:6])} ...' failed ({code}). Its last lines:\n{said}\n"
        raise CanneryError(Problem(what=what, fix=f"The whole output is in {log}."))
    return Timed(seconds=seconds, lines=tuple(lines), processor=worked)


def processor_seconds() -> float:
    """The seconds for which the processors of this machine have worked since its start; proc(5)."""
    line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    user, nice, system, _idle, _iowait, irq, softirq = map(int, line.split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def require_cold(done: Timed) -> Timed:
    """``done``, if none of its steps came from a cache.

    Raises:
        EngineError: one did, or the log has no steps.
    """
    if found := reused(done.steps):
        names = "\n".join(found)
        raise EngineError(f"the build was not cold; these steps came from a cache:\n{names}")
    if not done.steps:
        raise EngineError("the log of the cold build has no steps.")
    return done


def alternating(
    runs: Sequence[int], sides: Sequence[Callable[[], float]]
) -> tuple[tuple[float, ...], ...]:
    """Samples of each side, taken in turn (A B A B). A side with fewer runs joins later."""
    samples: list[list[float]] = [[] for _ in sides]
    for number in range(max(runs)):
        for side, count, found in zip(sides, runs, samples, strict=True):
            if number >= max(runs) - count:
                found.append(side())
    return tuple(tuple(found) for found in samples)
