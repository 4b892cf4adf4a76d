# SPDX-License-Identifier: Apache-2.0
"""Copies of folders for tests that change them; the folders themselves are read once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class _Tree:
    """Folders, parents first, and files with their content and mode."""

    folders: tuple[str, ...]
    files: tuple[tuple[str, bytes, int], ...]


def copy_tree(source: Path, target: Path) -> None:
    """Copy the file or folder ``source``, which no test may change, but for Python's caches."""
    target.parent.mkdir(parents=True, exist_ok=True)
    tree = _read(source)
    for folder in tree.folders:
        os.mkdir(f"{target}{folder}")  # noqa: PTH102 - a Path for each takes as long as all else
    for name, content, mode in tree.files:
        descriptor = os.open(f"{target}{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        os.write(descriptor, content)
        os.close(descriptor)


@cache
def _read(source: Path) -> _Tree:
    paths = [source, *sorted(source.rglob("*"))] if source.is_dir() else [source]
    kept = [path for path in paths if "__pycache__" not in path.parts]
    length = len(str(source))
    return _Tree(
        folders=tuple(str(path)[length:] for path in kept if path.is_dir()),
        files=tuple(
            (str(path)[length:], path.read_bytes(), path.stat().st_mode & 0o777)
            for path in kept
            if path.is_file()
        ),
    )
