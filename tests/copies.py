# SPDX-License-Identifier: Apache-2.0
"""Copies of folders for tests that change them; the folders themselves are read once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class _Tree:
    """Folders, parents first, and files with their content, mode and date in nanoseconds."""

    folders: tuple[str, ...]
    files: tuple[tuple[str, bytes, int, int], ...]


def copy_tree(source: Path, target: Path, *, caches: bool = False) -> None:
    """Copy the file or folder ``source``, which no test may change, with its dates.

    Python's ``caches`` are left out unless they are asked for. What is there already is replaced.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    tree = _read(source, caches=caches)
    for folder in tree.folders:
        os.makedirs(f"{target}{folder}", exist_ok=True)  # noqa: PTH103 - a Path takes much longer
    for name, content, mode, date in tree.files:
        descriptor = os.open(f"{target}{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        os.write(descriptor, content)
        os.utime(descriptor, ns=(date, date))
        os.close(descriptor)


@cache
def _read(source: Path, *, caches: bool) -> _Tree:
    paths = [source, *sorted(source.rglob("*"))] if source.is_dir() else [source]
    kept = [path for path in paths if caches or "__pycache__" not in path.parts]
    length = len(str(source))
    return _Tree(
        folders=tuple(str(path)[length:] for path in kept if path.is_dir()),
        files=tuple(
            (str(path)[length:], path.read_bytes(), status.st_mode & 0o777, status.st_mtime_ns)
            for path in kept
            if path.is_file()
            for status in [path.stat()]
        ),
    )
