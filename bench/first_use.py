# SPDX-License-Identifier: Apache-2.0
"""Measures the README's two commands, and .ci/run, from a fresh clone on a new machine."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.result import Figure, Series
from bench.timing import processor_seconds
from cannery import console
from cannery.errors import EngineError, Problem, UsageError
from cannery.execute.process import run

_COMMAND = re.compile(r"^    (bash setup\.sh python build\.py .+)$", re.MULTILINE)
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


def first_use(root: Path, folder: Path) -> list[Figure]:
    """The seconds that a new user waits on a new machine.

    Raises:
        UsageError: this machine has some of the programs already.
        EngineError: a command failed.
    """
    clone = _cloned(root, folder)
    spent = []
    try:
        for command in commands((clone / "README.md").read_text(encoding="utf-8")):
            seconds, _, said = _timed(["bash", "-c", command], clone)
            spent.append(seconds)
    finally:
        _do(["bash", "setup.sh", "--stop"], clone)
    if "npu:0" not in said:
        raise EngineError(f"the container did not compute on the device. Output:\n{said[-500:]}")
    titles = {
        "first-command": "README's first command, from a fresh clone on a bare Debian 12",
        "second-command": "README's second command, after the first",
    }
    return [
        _figure(key, title, "s", seconds)
        for (key, title), seconds in zip(titles.items(), spent, strict=True)
    ]


def ci(root: Path, folder: Path) -> Iterator[Figure]:
    """``.ci/run`` on a new machine, and again with what the first run has left.

    The duration in minutes and the processor time in core-minutes. Each is there as soon as it was
    measured, because they take the better part of an hour.

    Raises: as ``first_use``.
    """
    clone = _cloned(root, folder)
    titles = {
        "ci-first": ".ci/run, from a fresh clone on a bare Debian 12",
        "ci-again": ".ci/run again, with what the first run has left",
    }
    for key, title in titles.items():
        seconds, processor, _ = _timed(["bash", ".ci/run"], clone)
        yield _figure(key, title, "min", seconds / 60)
        spent = f"processor time, on all cores: {title}"
        yield _figure(f"{key}-processor", spent, "min", processor / 60)


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


def _timed(argv: list[str], folder: Path) -> tuple[float, float, str]:
    """The seconds of a command, its seconds of processor time, and its output."""
    console.say(argv[-1])
    worked, begun = processor_seconds(), time.monotonic()
    said = _do(argv, folder)
    return round(time.monotonic() - begun, 1), processor_seconds() - worked, said


def _do(argv: list[str], folder: Path) -> str:
    code, said = run(argv, cwd=folder, capture=True)
    if code:
        # The reason may be far from the end, and the clone with all logs is removed.
        with tempfile.NamedTemporaryFile("w", prefix="cannery-bench-", delete=False) as log:
            log.write(said)
        what = f"'{' '.join(argv)}' failed with code {code}:\n{said[-3000:]}\n"
        raise EngineError(Problem(what=what, fix=f"The whole output is in {log.name}."))
    return said
