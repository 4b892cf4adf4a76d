# SPDX-License-Identifier: Apache-2.0
"""Canaries: made-up secrets that a run is given, and that are then looked for where it has written.

A secret is found as it is, and in the Base64 of HTTP logins, in archives and in compressed files.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import os
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast
from uuid import uuid4

import zstandard

_CHUNK = 1 << 20
_DAMAGED = (
    tarfile.TarError,
    zstandard.ZstdError,
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
)


@dataclass(frozen=True, kw_only=True)
class Canary:
    """A secret: ``name`` says which one it is."""

    name: str
    secret: str

    @property
    def forms(self) -> tuple[bytes, ...]:
        """The bytes by which it is recognised: its own, and those of its Base64 at any place."""
        plain = self.secret.encode()
        encoded = []
        for before in range(3):
            text = base64.b64encode(b"\0" * before + plain)
            # The first and the last characters depend on what is beside it.
            start = (0, 2, 3)[before]
            encoded.append(text[start:].rstrip(b"=")[:-2])
        return plain, *encoded


def canaries(*names: str) -> dict[str, Canary]:
    """New secrets of these names, which are in no other run."""
    mark = uuid4().hex[:12]
    return {name: Canary(name=name, secret=f"canary-{name}-{mark}") for name in names}


_Forms = Mapping[str, tuple[bytes, ...]]

Content = bytes | Path
"""What is looked through; a folder with all that is in it, and its names."""


def found(wanted: Iterable[Canary], place: str, content: Content) -> list[str]:
    """The name of each canary in ``content``, with where it is."""
    forms = {each.name: each.forms for each in wanted}
    if isinstance(content, Path):
        paths = [path for path in [content, *sorted(content.rglob("*"))] if not path.is_symlink()]
        names = "\n".join(str(path) for path in paths).encode()
        hits = [*_in_bytes(forms, f"{place}: names", names)]
        for path in paths:
            with suppress(FileNotFoundError):
                if path.is_file():
                    with path.open("rb") as stream:
                        hits += _in_stream(forms, f"{place}: {path.name}", stream)
        return hits
    return [*_in_stream(forms, place, io.BytesIO(content))]


def search(wanted: Iterable[Canary], places: Mapping[str, Iterable[Content]]) -> list[str]:
    """The canaries in all of ``places``."""
    wanted = [*wanted]
    return [
        hit for name, all_ in places.items() for each in all_ for hit in found(wanted, name, each)
    ]


def _in_bytes(forms: _Forms, place: str, content: bytes) -> Iterator[str]:
    for name, each in forms.items():
        if any(form in content for form in each):
            yield f"{name} in {place}"


def _in_stream(forms: _Forms, place: str, stream: IO[bytes]) -> Iterator[str]:
    with io.BufferedReader(cast("io.RawIOBase", stream), _CHUNK) as content:
        head = content.peek(512)[:512]
        try:
            if inner := _unpacked(head, content):
                yield from _in_stream(forms, place, inner)
            elif head[257:262] == b"ustar":
                yield from _in_tar(forms, place, content)
            elif head.startswith(b"PK\x03\x04"):
                yield from _in_zip(forms, place, content.read())
            else:
                yield from _scanned(forms, place, content)
        except _DAMAGED as error:
            raise AssertionError(f"{place} cannot be looked through: {error}") from error


def _in_zip(forms: _Forms, place: str, content: bytes) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            yield from _in_bytes(forms, f"{place}!{name}", archive.read(name))


def _in_tar(forms: _Forms, place: str, content: IO[bytes]) -> Iterator[str]:
    with tarfile.open(fileobj=content, mode="r|") as archive:
        for member in archive:
            about = f"{member.name} {member.linkname} {member.pax_headers}".encode()
            yield from _in_bytes(forms, f"{place}!{member.name}", about)
            if file := archive.extractfile(member) if member.isreg() else None:
                yield from _in_stream(forms, f"{place}!{member.name}", file)


def _unpacked(head: bytes, content: IO[bytes]) -> IO[bytes] | None:
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=content))
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        reader = zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True)
        return cast("IO[bytes]", reader)
    return cast("IO[bytes]", bz2.BZ2File(content)) if head.startswith(b"BZh") else None


def _scanned(forms: _Forms, place: str, content: IO[bytes]) -> Iterator[str]:
    """Look through plain bytes; a secret may lie across two pieces."""
    overlap = max(len(form) for each in forms.values() for form in each)
    before, hits = b"", dict[str, None]()
    while chunk := content.read(_CHUNK):
        hits |= dict.fromkeys(_in_bytes(forms, place, before + chunk))
        before = chunk[-overlap:]
    yield from hits


@dataclass
class Watched:
    """The command lines of all processes that there were."""

    commands: set[bytes] = field(default_factory=set)

    @property
    def content(self) -> bytes:
        return b"\n".join(sorted(self.commands))


@contextmanager
def watching(pause: float = 0.002) -> Iterator[Watched]:
    """Note the command line of every process of this machine but this one."""
    watched, over = Watched(), threading.Event()

    def watch() -> None:
        while not over.wait(pause):
            for each in os.listdir("/proc"):  # noqa: PTH208 - names are enough
                if each.isdigit() and int(each) != os.getpid():
                    with suppress(OSError):
                        watched.commands.add(Path("/proc", each, "cmdline").read_bytes())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield watched
    finally:
        over.set()
        thread.join()
