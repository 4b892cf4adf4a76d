# SPDX-License-Identifier: Apache-2.0
"""The machine on which the figures are measured."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from cannery.building import git
from cannery.common.errors import EngineError
from cannery.common.process import run

_MEMORY = re.compile(r"^MemTotal:\s+(\d+) kB", re.MULTILINE)
_MODEL = re.compile(r"^(?:model name|CPU part)\s*:\s*(.+)$", re.MULTILINE)

_SHORT = 7
"""The digits of a commit's id that git shows at least."""


def facts(emulated: bool) -> dict[str, str]:
    """The facts about this machine for bench/README.md; ``emulated`` is about the images."""
    return {
        "cpu": _first(_MODEL, Path("/proc/cpuinfo")) or platform.machine(),
        "architecture": platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{int(_first(_MEMORY, Path('/proc/meminfo')) or 0) / 2**20:.0f} GiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "engine": _said("dockerd", "--version"),
        "buildx": _said("docker", "buildx", "version"),
        "emulation": "yes" if emulated else "no",
    }


def name(machine: dict[str, str]) -> str:
    """A file name for ``machine``, as in ``amd-epyc-2-cores``."""
    words = re.sub(r"\((r|tm)\)|@.*|\b\d+-core\b|\bprocessor\b", " ", machine["cpu"].lower())
    return re.sub(r"[^a-z0-9]+", "-", f"{words} {machine['cores']} cores").strip("-")


def commit(root: Path) -> str:
    """The short id of the commit of the checkout, with a plus if tracked files have changed.

    Raises:
        EngineError: git fails.
    """
    found = git.commit(root)
    if not found:
        return "unknown"
    return found[:_SHORT] + ("+" if git.changed(root, untracked=False) else "")


def _first(pattern: re.Pattern[str], path: Path) -> str:
    try:
        found = pattern.search(path.read_text(encoding="utf-8"))
    except OSError:
        return ""
    return found[1].strip() if found else ""


def _said(*argv: str) -> str:
    try:
        code, said = run([*argv])
    except EngineError:
        return "none"
    version = re.search(r"\d+\.\d+\.\d+\S*", said)
    return "none" if code or not version else version[0].rstrip(",")
