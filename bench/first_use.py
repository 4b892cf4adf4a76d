# SPDX-License-Identifier: Apache-2.0
"""Measures the README's two commands, from a fresh clone to a result on the device."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from bench.result import Figure, Series
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
    if there := [name for name in _INSTALLED if shutil.which(name)]:
        what = f"this machine is not new: {', '.join(there)} is installed."
        raise UsageError(Problem(what=what, fix="Measure on a bare Debian 12."))
    clone = folder / "cannery"
    _do(["git", "clone", "--quiet", str(root), str(clone)], folder)
    spent = {}
    try:
        for command in commands((clone / "README.md").read_text(encoding="utf-8")):
            console.say(command)
            begun = time.monotonic()
            said = _do(["bash", "-c", command], clone)
            spent[command] = round(time.monotonic() - begun, 1)
    finally:
        _do(["bash", "setup.sh", "--stop"], clone)
    if "npu:0" not in said:
        raise EngineError(f"the container did not compute on the device. Output:\n{said[-500:]}")
    return [
        Figure(
            key="first-use",
            title="README's two commands, from a fresh clone on a bare Debian 12",
            unit="s",
            ours=Series(what="build, then run", samples=(sum(spent.values()),)),
            detail={"seconds": spent},
        )
    ]


def _do(argv: list[str], folder: Path) -> str:
    code, said = run(argv, cwd=folder, capture=True)
    if code:
        raise EngineError(f"'{' '.join(argv)}' failed with code {code}:\n{said[-3000:]}")
    return said
