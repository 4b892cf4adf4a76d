# SPDX-License-Identifier: Apache-2.0
"""From a fresh clone to a container that has computed something, by the README alone."""

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
"""What setup.sh would install, and a new machine has none of."""


def commands(readme: str) -> list[str]:
    """What the README tells a new user to type: build, then run.

    Raises:
        UsageError: it does not say both.
    """
    found: list[str] = _COMMAND.findall(readme)
    if len(found) != 2 or " build.py run " not in found[1]:
        what = f"README.md should tell a new user to build and to run, and has: {found}."
        raise UsageError(Problem(what=what, fix="Look at its section 'Two commands'."))
    return found


def first_use(root: Path, folder: Path) -> list[Figure]:
    """How long a new user of a new machine waits.

    Raises:
        UsageError: this machine is not new.
        EngineError: a command failed.
    """
    if there := [name for name in _INSTALLED if shutil.which(name)]:
        what = f"this machine is not new: it has {', '.join(there)}."
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
        raise EngineError(f"nothing was computed on the device; the container said:\n{said[-500:]}")
    return [
        Figure(
            key="first-use",
            title="from a fresh clone on a bare Debian 12 to a container that computes",
            unit="s",
            ours=Series(what="the README's two commands", samples=(sum(spent.values()),)),
            detail={"seconds": spent},
        )
    ]


def _do(argv: list[str], folder: Path) -> str:
    code, said = run(argv, cwd=folder, capture=True)
    if code:
        raise EngineError(f"'{' '.join(argv)}' ended with {code}:\n{said[-3000:]}")
    return said
