# SPDX-License-Identifier: Apache-2.0
"""Extracts tar archives; no member can be written outside of the folder."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Extract all members of ``archive`` into ``folder``.

    Python has its filter for data since 3.11.4. Debian 12 has 3.11.2, where the members are checked
    here.

    Raises:
        tarfile.TarError: a member or the target of a link is outside of ``folder``, or a member is
            a device or a pipe.
        OSError: a file cannot be written.
    """
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
        return
    root = folder.resolve()
    for member in archive:
        paths = [root / member.name]
        if member.issym():
            paths.append(paths[0].parent / member.linkname)
        elif member.islnk():
            paths.append(root / member.linkname)
        elif not (member.isreg() or member.isdir()):
            raise tarfile.TarError(f"{member.name!r} is a device or a pipe")
        if not all(path.resolve().is_relative_to(root) for path in paths):
            raise tarfile.TarError(f"{member.name!r} is outside of the folder")
        archive.extract(member, root)


class Pieces(io.RawIOBase):
    """A file that can be read once, of what an iterable gives."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size
