# SPDX-License-Identifier: Apache-2.0
"""The machine and the checkouts that the pages name."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from ascend_sim.command.errors import UsageError

_MEMORY = re.compile(r"^MemTotal:\s+(\d+) kB", re.MULTILINE | re.ASCII)
_MODEL = re.compile(r"^(?:model name|CPU part)\s*:\s*(.+)$", re.MULTILINE)


def described() -> str:
    """This machine in a few words."""
    memory = int(_first(_MEMORY, "/proc/meminfo") or 0) / 2**20
    cpu = _first(_MODEL, "/proc/cpuinfo") or platform.machine()
    cores = len(os.sched_getaffinity(0))
    return f"{cpu}, {cores} cores, {memory:.0f} GiB, {platform.machine()}"


def _first(pattern: re.Pattern[str], file: str) -> str:
    try:
        found = pattern.search(Path(file).read_text(encoding="utf-8"))
    except OSError:
        return ""
    return found[1].strip() if found else ""


def commit(root: Path) -> str:
    """The short id of the commit of the checkout, with a plus if tracked files have changed.

    Raises:
        UsageError: it is no checkout.
    """
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return _git(root, "rev-parse", "--short=7", "HEAD") + ("+" if changed else "")


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UsageError(f"{root} is not a checkout: {done.stderr.strip()}")
    return done.stdout.strip()
