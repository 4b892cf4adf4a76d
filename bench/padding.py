# SPDX-License-Identifier: Apache-2.0
"""Pads a simulated package with files, so that it is as large as the vendor's.

Equal arguments give equal bytes. The added files compress to about half, as binaries do.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import itertools
import random
import re
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from cannery.common.errors import FileError

_MARKER = "SIMULATED"
"""The file in the root of a simulated package's tree; the added files go beside it."""

_LINE = re.compile(rb"^payload_line=(\d+)$", re.MULTILINE)
_WORD = 16
_WORDS = 2500
"""So many words of ``_WORD`` bytes make gzip find about every second one in its window."""

_POOL = 16 * 1024**2
_IN_A_FOLDER = 100
_DATE = 315532800
"""1980-01-01, the date of all files of the simulated packages."""


@dataclass(frozen=True, kw_only=True)
class Padding:
    """How many files to add, and their total size in bytes."""

    files: int
    size: int


def pad(source: Path, destination: Path, padding: Padding) -> None:
    """Write the package ``source`` with additional files to ``destination``.

    Raises:
        FileError: ``source`` is not a simulated package.
    """
    content = source.read_bytes()
    if not (found := _LINE.search(content)):
        raise FileError(f"{source} is not a simulated package: it has no payload_line.")
    start = _line_start(content, int(found[1]))
    payload = destination.with_name(f".{destination.name}.payload")
    try:
        size, digest = _write_payload(content[start:], payload, padding)
        head = content[:start]
        for name, value in (("size", str(size)), ("sha256", digest)):
            pattern = rf"^payload_{name}=\S+$".encode()
            head = re.sub(pattern, f"payload_{name}={value}".encode(), head, flags=re.MULTILINE)
        with destination.open("wb") as file, payload.open("rb") as packed:
            file.write(head)
            shutil.copyfileobj(packed, file)
        destination.chmod(0o755)
    finally:
        payload.unlink(missing_ok=True)


def _line_start(content: bytes, number: int) -> int:
    """The offset of line ``number``, counted from 1."""
    offset = 0
    for _ in range(number - 1):
        offset = content.index(b"\n", offset) + 1
    return offset


def _write_payload(old: bytes, path: Path, padding: Padding) -> tuple[int, str]:
    """Write the new payload. Returns its size and sha256."""
    unpacked = path.with_suffix(".old")
    unpacked.write_bytes(old)
    try:
        with (
            path.open("wb") as file,
            # Level 1, because only the size matters, and higher levels take minutes.
            gzip.GzipFile("", "wb", 1, file, mtime=0) as stream,
            tarfile.open(unpacked) as before,
            tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
        ):
            for member in before:
                archive.addfile(member, before.extractfile(member) if member.isreg() else None)
            root = _root(before.getnames())
            for each, content in _added(root, padding):
                archive.addfile(each, content)
    finally:
        unpacked.unlink()
    with path.open("rb") as written:
        return path.stat().st_size, hashlib.file_digest(written, "sha256").hexdigest()


def _root(names: list[str]) -> PurePosixPath:
    [marker] = [name for name in names if PurePosixPath(name).name == _MARKER]
    return PurePosixPath(marker).parent


def _added(
    root: PurePosixPath, padding: Padding
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """The folders and files to add, in the order of an archive, with the files' contents."""
    seeded = random.Random(str(padding))  # noqa: S311 - equal bytes each time, and no secret
    words = [seeded.randbytes(_WORD) for _ in range(_WORDS)]
    pool = b"".join(seeded.choices(words, k=_POOL // _WORD))
    for number, size in enumerate(sizes(padding, seeded)):
        folder = root / "padding" / f"{number // _IN_A_FOLDER:04}"
        if number % _IN_A_FOLDER == 0:
            for path in [folder.parent, folder] if number == 0 else [folder]:
                yield _member(path, tarfile.DIRTYPE, 0), None
        file = _member(folder / f"{number:06}.bin", tarfile.REGTYPE, size)
        yield file, _cut(pool, seeded.randrange(_POOL), size)


def sizes(padding: Padding, seeded: random.Random) -> list[int]:
    """The sizes of the added files: many small ones and a few large ones, with the right sum."""
    weights = [seeded.expovariate(1.0) for _ in range(padding.files)]
    sums = [0.0, *itertools.accumulate(weights)]
    ends = [round(each * padding.size / sums[-1]) for each in sums]
    return [after - before for before, after in itertools.pairwise(ends)]


def _member(path: PurePosixPath, kind: bytes, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(str(path))
    member.type, member.size, member.mtime = kind, size, _DATE
    member.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    return member


def _cut(pool: bytes, start: int, size: int) -> io.BytesIO:
    """``size`` bytes of the endless repetition of ``pool``, from ``start`` on."""
    times = -(-(start + size) // len(pool))
    return io.BytesIO((pool * times)[start : start + size])
