# SPDX-License-Identifier: Apache-2.0
"""The files of layers, also of saved images, and how they differ from those of another build."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import IO, Any, cast

import zstandard

from cannery.common.archives import Pieces
from cannery.common.errors import EngineError
from cannery.registry.image_archive import decompressed

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
class LayerFile:
    """A file of a layer. ``date`` is in seconds since 1970; ``content`` is the sha256 of a file."""

    type: str
    mode: int
    owner: tuple[int, int]
    date: float
    link: str
    content: str


Entries = Mapping[str, LayerFile]
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


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> LayerFile:
    digest = hashlib.sha256()
    if member.isreg() and (content := archive.extractfile(member)):
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
    return LayerFile(
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
            names = [each.name for each in fields(LayerFile)]
            how = tuple(name for name in names if getattr(old, name) != getattr(new, name))
        else:
            how = (ONLY_ORIGINAL if old else ONLY_REBUILT,)
        if how:
            found.append(FileChange(path=path, how=how))
    return tuple(found)


_HEAD = 4
_NO_LAYER = (tarfile.TarError, zstandard.ZstdError, gzip.BadGzipFile, zlib.error, EOFError)


def saved_layers(
    image: str, pieces: Iterator[bytes], wanted: Collection[str], others: Collection[str]
) -> Mapping[str, Entries]:
    """The files of the ``wanted`` layers, by digest, in the engine's archive of ``image``.

    ``pieces`` is the archive. The digests are those of uncompressed layers. Layers that the archive
    names after ``others`` are not read.

    Raises:
        EngineError: the archive is incomplete.
    """
    found: dict[str, Entries] = {}
    raw = cast("IO[bytes]", io.BufferedReader(Pieces(pieces), _CHUNK))
    try:
        with tarfile.open(fileobj=raw, mode="r|") as archive:
            for member in archive:
                # As in an OCI layout of engines that keep layers uncompressed.
                name = "sha256:" + member.name.rpartition("/")[2]
                if member.isfile() and name not in others:
                    content: Any = archive.extractfile(member)
                    found |= _if_layer(content)
    except tarfile.TarError as error:
        what = f"the engine's archive of {image} cannot be read: {error}."
        raise EngineError(what) from error
    if missing := sorted({*wanted} - found.keys()):
        what = f"the engine's archive of {image} lacks these layers: {', '.join(missing)}."
        raise EngineError(what)
    return {digest: found[digest] for digest in wanted}


def _if_layer(content: IO[bytes]) -> dict[str, Entries]:
    """The files of a layer with its digest; empty for other files of the archive."""
    head = content.read(_HEAD)
    if head.startswith((b"{", b"[")) or len(head) < _HEAD:
        return {}
    try:
        digest, entries = read_layer(decompressed(content, head))
    except _NO_LAYER:
        return {}
    return {digest: entries}


def blob_layer(chunks: Iterable[bytes]) -> tuple[str, Entries]:
    """The digest of the uncompressed layer in the blob ``chunks``, and its files.

    Raises:
        ValueError: it is not a layer.
    """
    content = cast("IO[bytes]", io.BufferedReader(Pieces(chunks), _CHUNK))
    try:
        found = read_layer(decompressed(content, content.read(_HEAD)))
    except _NO_LAYER as error:
        raise ValueError(f"it is not a layer: {error}") from error
    # Read to the end, which is when a registry's client compares the digest of the blob.
    while content.read(_CHUNK):
        pass
    return found
