# SPDX-License-Identifier: Apache-2.0
"""The files of a layer, and how they differ from those of another build of the same layer."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import IO, Any

_CHUNK = 1 << 20

_KINDS = {
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "symbolic link",
    tarfile.LNKTYPE: "hard link",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
    tarfile.FIFOTYPE: "pipe",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file of a layer. ``date`` is in seconds since 1970; ``content`` is the sha256 of a file."""

    type: str
    mode: int
    owner: tuple[int, int]
    date: float
    link: str
    content: str


Entries = Mapping[str, Entry]
"""Path to entry."""

ONLY_ORIGINAL = "only in the original"
ONLY_REBUILT = "only in the new build"


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """A file that differs. ``how`` has the attributes that do, or the only side with the file."""

    path: str
    how: tuple[str, ...]


class _Hashed(io.RawIOBase):
    """A stream that hashes what is read of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self.digest.update(data)
        buffer[: len(data)] = data
        return len(data)


def read_layer(stream: IO[bytes]) -> tuple[str, Entries]:
    """The digest of an uncompressed layer, as in ``sha256:0123...``, and its files.

    Raises:
        tarfile.TarError: it is not a layer.
    """
    hashed = _Hashed(stream)
    buffered = io.BufferedReader(hashed, _CHUNK)
    with tarfile.open(fileobj=buffered, mode="r|") as archive:
        found = {member.name: _entry(archive, member) for member in archive}
    while buffered.read(_CHUNK):
        pass
    return f"sha256:{hashed.digest.hexdigest()}", found


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    digest = hashlib.sha256()
    if member.isreg() and (content := archive.extractfile(member)):
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
    return Entry(
        type=_KINDS.get(member.type, "file"),
        mode=member.mode,
        owner=(member.uid, member.gid),
        date=member.mtime,
        link=member.linkname,
        content=digest.hexdigest() if member.isreg() else "",
    )


def file_changes(before: Entries, after: Entries) -> tuple[FileChange, ...]:
    """The files that differ, by path."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old and new:
            names = [each.name for each in fields(Entry)]
            how = tuple(name for name in names if getattr(old, name) != getattr(new, name))
        else:
            how = (ONLY_ORIGINAL if old else ONLY_REBUILT,)
        if how:
            found.append(FileChange(path=path, how=how))
    return tuple(found)
