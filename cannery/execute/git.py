# SPDX-License-Identifier: Apache-2.0
"""Asks git what the checkout is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cannery.errors import EngineError
from cannery.execute.process import run


def commit(root: Path) -> str:
    """The commit that is checked out in ``root``; empty where there is none."""
    return _said(root, "rev-parse", "--verify", "--quiet", "HEAD").strip()


def address(root: Path) -> str:
    """Where the checkout was cloned from; empty where nobody knows."""
    return _said(root, "config", "--get", "remote.origin.url").strip()


def changed(root: Path, paths: Sequence[str] = ()) -> list[str]:
    """The files below ``root``, or below ``paths`` of it, that are not as they were committed."""
    said = _said(root, "status", "--porcelain", "--untracked-files=all", "-z", "--", *paths)
    return [entry[3:] for entry in said.split("\0") if entry[2:3] == " "]


def _said(root: Path, *words: str) -> str:
    try:
        code, said = run(["git", "-C", str(root), *words], capture=True)
    except EngineError:  # it is not installed
        return ""
    return "" if code else said
