# SPDX-License-Identifier: Apache-2.0
"""The file of a bundle: a tar archive, and behind it one block with the sha256 of the archive.

tar ignores what follows the end of an archive, so every tar program can list and unpack a bundle.
The block at the end covers each byte before it, so one changed bit anywhere is found.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from cannery.common.archives import extract
from cannery.common.errors import ArtifactError, Problem, file_error
from cannery.common.file_hashes import sha256_of
from cannery.common.owner import temporary_beside, temporary_folder

MANIFEST = "manifest.json"
"""The first member of the archive: what the bundle is for, and every file with its hash."""

_SCHEMA = 1
_END = b"cannery-bundle sha256:"
_BLOCK = 512
_CHUNK = 1 << 20

_DAMAGED = "Copy the bundle again, or make it again with 'build.py bundle'."


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a bundle is for.

    Attributes:
        simulate: it has simulated packages in place of the vendor's.
        targets: id to content key by the committed files; see ``KeyInputs.committed``.
        images: name in the engine to the id of a base image, which ``images/ID.tar`` holds.
        commit: of the checkout that made it; empty if that was no git checkout.
    """

    simulate: bool
    targets: Mapping[str, str]
    images: Mapping[str, str]
    commit: str


def require_place(out: Path) -> None:
    """Make the folder of ``out``, before hours go into what cannot be written there.

    Raises:
        FileError: a bundle cannot be written there.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise file_error("write", out, error) from error


def pack(folder: Path, contents: Contents, out: Path) -> int:
    """Write the bundle ``out`` from all files in ``folder``, and return its size in bytes.

    ``out`` appears under its name once it is complete.

    Raises:
        FileError: a file cannot be read or written.
    """
    temporary = None
    try:
        temporary = temporary_beside(out)
        with temporary.open("xb") as stream:
            hashing = _Hashing(stream)
            with tarfile.open(fileobj=hashing, mode="w|", format=tarfile.PAX_FORMAT) as archive:
                manifest = {"schema": _SCHEMA, **asdict(contents), "files": [*_listed(folder)]}
                text = json.dumps(manifest, indent=1).encode()
                member = tarfile.TarInfo(MANIFEST)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
                for path in sorted(folder.rglob("*")):
                    archive.add(path, str(path.relative_to(folder)), recursive=False, filter=_plain)
            end = _END + hashing.digest.hexdigest().encode() + b"\n"
            stream.write(end.ljust(_BLOCK, b"\0"))
            stream.flush()
            os.fsync(stream.fileno())
            size = stream.tell()
        os.replace(temporary, out)
    except OSError as error:
        raise file_error("write", out, error) from error
    finally:
        with suppress(OSError):
            if temporary:
                temporary.unlink()
    return size


class _Hashing(io.RawIOBase):
    """Writes to another stream, and hashes what it writes."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self._stream.write(data)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the time and the owner, so that equal files give an equal bundle."""
    member.mtime = member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _listed(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = str(path.relative_to(folder))
            yield {"path": name, "size": path.stat().st_size, "sha256": sha256_of(path)}


def unpack(bundle: Path, parent: Path) -> tuple[Path, Contents]:
    """Check ``bundle`` and unpack it into a folder below ``parent``, unless that was done before.

    Returns the folder, and what the bundle is for.

    Raises:
        ArtifactError: it is no bundle, incomplete, or not the bytes that were written.
        FileError: it cannot be read, or its files cannot be written.
    """
    try:
        digest = _checked(bundle)
    except OSError as error:
        raise file_error("read", bundle, error) from error
    place = parent / digest[:16]
    try:
        if not place.is_dir():
            with temporary_folder(parent) as temporary:
                tree = temporary / "tree"
                _extract(bundle, tree)
                os.replace(tree, place)
        text = (place / MANIFEST).read_text(encoding="utf-8")
    except OSError as error:
        raise file_error("write", place, error) from error
    return place, _contents(bundle, json.loads(text))


def _checked(bundle: Path) -> str:
    """The sha256 of the archive in ``bundle``, which must be that of its last block."""
    length = bundle.stat().st_size - _BLOCK
    with bundle.open("rb") as stream:
        if length > 0:
            stream.seek(length)
        end = stream.read(_BLOCK)
        if length <= 0 or not end.startswith(_END):
            what = f"{bundle} is not a complete bundle: its last block is not that of a bundle."
            raise ArtifactError(Problem(what=what, fix=_DAMAGED))
        stream.seek(0)
        digest = hashlib.sha256()
        for left in range(length, 0, -_CHUNK):
            digest.update(stream.read(min(left, _CHUNK)))
    found = digest.hexdigest()
    if end != (_END + found.encode() + b"\n").ljust(_BLOCK, b"\0"):
        what = f"{bundle} was changed after it was made: its last block has another sha256."
        raise ArtifactError(Problem(what=what, fix=_DAMAGED))
    return found


def _extract(bundle: Path, tree: Path) -> None:
    try:
        with tarfile.open(bundle) as archive:
            extract(archive, tree)
    except tarfile.TarError as error:
        # The bytes are those that were written, so the writer was not ours.
        raise ArtifactError(f"{bundle} cannot be unpacked: {error}.") from error
    if not (tree / MANIFEST).is_file():
        raise ArtifactError(f"{bundle} has no {MANIFEST}.")


def _contents(bundle: Path, manifest: dict[str, Any]) -> Contents:
    if manifest.get("schema") != _SCHEMA:
        what = f"{bundle} is of another version of cannery ({manifest.get('schema')!r})."
        raise ArtifactError(Problem(what=what, fix="Make it again with this checkout."))
    names = Contents.__dataclass_fields__
    return Contents(**{name: manifest[name] for name in names})
