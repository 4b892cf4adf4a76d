# SPDX-License-Identifier: Apache-2.0
"""Measures README's two commands and then .ci/run, in a fresh clone on a new machine."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench.result import Figure, Series
from bench.timing import processor_seconds
from cannery.common import console
from cannery.common.errors import EngineError, Problem, UsageError
from cannery.common.process import run

_COMMAND = re.compile(r"^    (bash setup\.sh python build\.py .+)$", re.MULTILINE)
_PRINTED = re.compile(r"prints\s+`([^`]+)`")
_TOOK = re.compile(r"^ci: .+ took (\d+) s$", re.MULTILINE)
_INSTALLED = ("dockerd", "mmdebstrap", "qemu-aarch64-static")
"""Programs that setup.sh installs and that a new machine does not have."""


def commands(readme: str) -> list[str]:
    """The two commands of the README for a new user: build, then run.

    Raises:
        UsageError: the README does not have both.
    """
    found: list[str] = _COMMAND.findall(readme)
    if len(found) != 2 or " build.py run " not in found[1]:
        what = f"README.md must have one command that builds and one that runs; it has: {found}."
        raise UsageError(Problem(what=what, fix="Correct its indented commands."))
    return found


def printed(readme: str) -> str:
    """What the README says that the second of its commands prints.

    Raises:
        UsageError: it does not say it.
    """
    if not (found := _PRINTED.search(readme)):
        raise UsageError(Problem(what="README.md does not say what its commands print."))
    return found[1]


def new_machine(root: Path, folder: Path) -> Iterator[Figure]:
    """README's two commands and ``.ci/run``, in a fresh clone on a new machine.

    Raises:
        UsageError: this machine has some of the programs already.
        EngineError: a command failed.
    """
    clone = _cloned(root, folder)
    yield from first_use(clone)
    yield from ci(clone)


def first_use(clone: Path) -> list[Figure]:
    """The seconds that a new user waits for README's two commands. Raises as ``new_machine``."""
    readme = (clone / "README.md").read_text(encoding="utf-8")
    spent = []
    try:
        for command in commands(readme):
            done = _timed(["bash", "-c", command], clone)
            if done.failed:
                raise EngineError(done.failed)
            spent.append(done.seconds)
    finally:
        _do(["bash", "setup.sh", "--stop"], clone)
    if printed(readme) not in done.said:
        what = f"the container did not print {printed(readme)!r}. Output:\n{done.said[-500:]}"
        raise EngineError(what)
    titles = {
        "first-command": "README's first command, from a fresh clone on a bare Debian 12",
        "second-command": "README's second command, after the first",
    }
    return [
        _figure(key, title, "s", seconds)
        for (key, title), seconds in zip(titles.items(), spent, strict=True)
    ]


def ci(clone: Path) -> Iterator[Figure]:
    """``.ci/run`` after README's commands, and again; and the first part of it, README's tests.

    The duration in minutes, and of the whole the processor time beside it. Each is there as
    soon as it was measured. A run that failed after all its parts is a figure too, which is not
    within its limit; the failure is raised at the end.

    Raises as ``new_machine``.
    """
    parts = (clone / ".ci" / "run").read_text(encoding="utf-8").count("\ntook ")
    problems: list[Problem] = []
    for tests, whole, when in (
        ("tests-first", "ci-first", "after the first two commands"),
        ("tests-again", "ci-again", "again, with what the first run has left"),
    ):
        done = _timed(["bash", ".ci/run"], clone)
        took = _TOOK.findall(done.said)
        if done.failed and len(took) < parts:
            raise EngineError([*problems, done.failed])
        failed = int(done.failed is not None)
        figure = _figure(tests, f"README's tests, {when}", "min", int(took[0]) / 60)
        yield replace(figure, failed=failed)
        figure = _figure(whole, f".ci/run, {when}", "min", done.seconds / 60)
        spent = {"processor_minutes": round(done.processor / 60, 1)}
        yield replace(figure, failed=failed, detail=spent)
        problems += [done.failed] if done.failed else []
    if problems:
        raise EngineError(problems)


def _figure(key: str, title: str, unit: str, sample: float) -> Figure:
    ours = Series(what="whole process", samples=(sample,))
    return Figure(key=key, title=title, unit=unit, ours=ours)


def _cloned(root: Path, folder: Path) -> Path:
    """A clone of the checkout ``root``, on a machine without the programs that it installs."""
    if there := [name for name in _INSTALLED if shutil.which(name)]:
        what = f"this machine is not new: {', '.join(there)} is installed."
        raise UsageError(Problem(what=what, fix="Measure on a bare Debian 12."))
    clone = folder / "cannery"
    _do(["git", "clone", "--quiet", str(root), str(clone)], folder)
    return clone


@dataclass(frozen=True, kw_only=True)
class _Done:
    """A command that has ended; ``failed`` says why, if it did not end with code 0."""

    seconds: float
    processor: float
    said: str
    failed: Problem | None


def _timed(argv: list[str], folder: Path) -> _Done:
    """Run a command, and measure its seconds and its seconds of processor time."""
    console.say(argv[-1])
    worked, begun = processor_seconds(), time.monotonic()
    code, said = run(argv, cwd=folder, env=os.environ)
    seconds = round(time.monotonic() - begun, 1)
    worked = processor_seconds() - worked
    failed = _failure(argv, code, said) if code else None
    return _Done(seconds=seconds, processor=worked, said=said, failed=failed)


def _do(argv: list[str], folder: Path) -> None:
    code, said = run(argv, cwd=folder, env=os.environ)
    if code:
        raise EngineError(_failure(argv, code, said))


def _failure(argv: list[str], code: int, said: str) -> Problem:
    # The reason may be far from the end, and the clone with all logs is removed.
    with tempfile.NamedTemporaryFile("w", prefix="cannery-bench-", delete=False) as log:
        log.write(said)
    what = f"'{' '.join(argv)}' failed with code {code}:\n{said[-3000:]}\n"
    return Problem(what=what, fix=f"The whole output is in {log.name}.")
