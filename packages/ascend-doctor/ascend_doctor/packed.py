# SPDX-License-Identifier: Apache-2.0
"""Opens logs as streams of UTF-8: packed ones, archives, UTF-16, and what ends its lines in CR."""

from __future__ import annotations

import bz2
import codecs
import functools
import gzip
import io
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from typing import IO, Any, BinaryIO, Callable, cast

STDIN = "-"
INSIDE = "!/"
"""Between the path of an archive and the name of a log in it."""

_HEAD = 1 << 12
_BUFFER = 1 << 20
_PACKED: tuple[tuple[bytes, Any], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\0", lzma.open),
)
_FOREIGN = (
    (b"\x7fELF", "a program, a library or a core dump (ELF)"),
    (b"MZ", "a program for Windows"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd: unpack it with 'unzstd'"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it with '7z x'"),
    (b"Rar!", "a RAR archive: unpack it with 'unrar x'"),
    (b"\x04\x22\x4d\x18", "packed with lz4: unpack it with 'unlz4'"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture (PNG): copy the text of the log"),
    (b"\xff\xd8\xff", "a picture (JPEG): copy the text of the log"),
    (b"SQLite format 3\0", "a database (SQLite)"),
)
UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error, tarfile.TarError, zipfile.BadZipFile)


class LogError(Exception):
    """A log cannot be read; the message names it."""


class _Text(io.RawIOBase):
    """A stream whose bytes are changed while they are read, and what it reads from."""

    def __init__(self, streams: list[IO[bytes]], change: Callable[[bytes], bytes] | None) -> None:
        super().__init__()
        self._streams, self._change, self._rest = streams, change, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b"x"
        while not self._rest and data:
            data = self._streams[-1].read(len(buffer))
            self._rest = self._change(data) if self._change else data
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        super().close()


def names_in(path: str) -> list[str]:
    """The logs that ``path`` holds: the files of an archive, else the path itself.

    Raises:
        LogError: it is something else than a log.
    """
    try:
        archive = _archive(path, _stamp(path))
        if archive is None:
            with opened(path):
                return [path]
        if isinstance(archive, tarfile.TarFile):
            names = [each.name for each in archive.getmembers() if each.isfile()]
        else:
            names = [each for each in archive.namelist() if not each.endswith("/")]
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    if not names:
        raise LogError(f"{path} is an archive without files.")
    return [path + INSIDE + name for name in names]


def opened(path: str) -> BinaryIO:
    """The text of a log as UTF-8.

    Raises:
        LogError: it is something else than a log.
    """
    if path == STDIN:
        stream = os.fdopen(os.dup(_spooled(sys.stdin).fileno()), "rb")
        stream.seek(0)
        return _plain(stream, path)
    outer, inside, name = path.partition(INSIDE)
    if inside and os.path.isfile(outer):
        archive = _archive(outer, _stamp(outer))
        member = (
            archive.extractfile(name)
            if isinstance(archive, tarfile.TarFile)
            else cast(zipfile.ZipFile, archive).open(name)
        )
        return _plain(cast(BinaryIO, member), path)
    return _plain(open(path, "rb", buffering=_BUFFER), path)


def unreadable(path: str, error: Exception) -> LogError:
    """The error for a file that cannot be read, or whose packing is broken."""
    reason = (error.strerror if isinstance(error, OSError) else "") or f"it is broken: {error}"
    return LogError(f"{path} cannot be read: {reason}.")


def _stamp(path: str) -> tuple[float, int]:
    found = os.stat(path) if path != STDIN else None
    return (found.st_mtime, found.st_size) if found else (0, 0)


@functools.lru_cache(maxsize=1)
def _archive(path: str, _state: tuple[float, int]) -> tarfile.TarFile | zipfile.ZipFile | None:
    """The archive ``path``; None if it is none. ``_state`` tells it from an older one."""
    if path == STDIN:
        return None
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"PK\3\4"):
        return zipfile.ZipFile(path)
    unpack = next((each for magic, each in _PACKED if head.startswith(magic)), None)
    if unpack:
        with unpack(path) as file:
            head = file.read(_HEAD)
    return tarfile.open(path) if head[257:262] == b"ustar" else None


@functools.lru_cache(maxsize=1)
def _spooled(source: Any) -> BinaryIO:
    """What comes from standard input, which is read more than once."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the program
    shutil.copyfileobj(source.buffer, spool)
    spool.flush()
    return cast(BinaryIO, spool)


def _plain(stream: BinaryIO, path: str) -> BinaryIO:
    """``stream`` without packing, in UTF-8, with lines that end in LF."""
    streams: list[IO[bytes]] = [stream]
    head = _head(stream)
    unpack = next((each for magic, each in _PACKED if head.startswith(magic)), None)
    if unpack:
        streams.append(unpack(stream))
        head = _head(streams[-1])
    encoding = _encoding(head)
    foreign = next((what for magic, what in _FOREIGN if head.startswith(magic)), "")
    # A log that was cut while it was written has a hole of zeros.
    zeros = head.count(b"\0")
    if (
        not foreign
        and not encoding
        and b"\0" in head[:64]
        and len(head) < 10 * zeros < 10 * len(head)
    ):
        foreign = "binary data"
    if foreign:
        stream.close()
        raise LogError(f"{path} is no log but {foreign}.")
    change = _change(head, encoding)
    return cast(BinaryIO, io.BufferedReader(_Text(streams, change))) if unpack or change else stream


def _head(stream: IO[bytes]) -> bytes:
    head = stream.read(_HEAD)
    stream.seek(0)
    return head


def _change(head: bytes, encoding: str) -> Callable[[bytes], bytes] | None:
    """What makes UTF-8, with lines that end in LF, of a stream that begins with ``head``."""
    if encoding:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        return lambda data: decoder.decode(data, final=not data).encode("utf-8", "replace")
    if b"\r" in head and b"\n" not in head:
        return lambda data: data.replace(b"\r", b"\n")
    return None


def _encoding(head: bytes) -> str:
    """UTF-16 by its mark or its zeros, or GB 18030; empty if it is another."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    half = len(head) // 2
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if half > 1 and head[start::2].count(0) > 0.6 * half > 6 * head[1 - start :: 2].count(0):
            return name
    return "" if _decodes(head, "utf-8") or not _decodes(head, "gb18030") else "gb18030"


def _decodes(head: bytes, encoding: str) -> bool:
    """Whether ``head``, whose last character can be cut, is text of this encoding."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return True
