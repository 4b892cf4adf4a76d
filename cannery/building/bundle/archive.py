# SPDX-License-Identifier: Apache-2.0
"""The file of a bundle: a tar archive, and behind it one block with the sha256 of the archive.

tar ignores what follows the end of an archive, so every tar program can list and unpack a bundle.
The block at the end covers each byte before it, so one changed bit anywhere is found. Of the JSON
files of a bundle nothing is believed.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from cannery.common import console
from cannery.common.archives import extract
from cannery.common.errors import ArtifactError, Problem, file_error, some_of
from cannery.common.file_hashes import sha256_of
from cannery.common.files import temporary_beside, temporary_folder
from cannery.common.outside import parse_json, printable

DAMAGED = "Copy the bundle again, or make it again with 'build.py bundle'."

_LARGEST = 64 << 20

_SHA256 = re.compile(r"[0-9a-f]{64}")


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``.

    Raises:
        ArtifactError: there is none.
        OSError: it cannot be read.
    """
    if path.is_symlink() or not path.is_file():
        raise invalid(path, "it is missing")
    if path.stat().st_size > _LARGEST:
        raise invalid(path, f"it is larger than {_LARGEST >> 20} MiB")
    try:
        found = parse_json(path.read_bytes(), most=_LARGEST)
    except ValueError as error:
        raise invalid(path, "it is not JSON") from error
    if not isinstance(found, dict):
        raise invalid(path, "it is not an object")
    return found


def is_sha256(value: object) -> bool:
    """Whether ``value`` is a sha256 in hexadecimal, and so the name of one file."""
    return isinstance(value, str) and bool(_SHA256.fullmatch(value))


def is_text(value: object, pattern: str) -> bool:
    """Whether ``value`` is a text that matches ``pattern`` from its first to its last character."""
    return isinstance(value, str) and bool(re.fullmatch(pattern, value, re.ASCII))


def invalid(path: Path, why: str) -> ArtifactError:
    """The error for a file of a bundle."""
    return ArtifactError(Problem(what=f"{path} of the bundle is not valid: {why}.", fix=DAMAGED))


MANIFEST = "manifest.json"
"""The first member of the archive: what the bundle is for, and every file with its hash."""

_SCHEMA = 2
_END = b"cannery-bundle sha256:"
_BLOCK = 512
_CHUNK = 1 << 20


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
    """Look whether ``out`` can be written, before hours go into it.

    Raises:
        FileError: a bundle cannot be written there.
    """
    try:
        os.scandir(out.absolute().parent).close()
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
        name = str(path.relative_to(folder))
        if path.is_symlink():
            yield {"path": name, "link": str(path.readlink())}
        elif path.is_file():
            yield {"path": name, "size": path.stat().st_size, "sha256": sha256_of(path)}


def unpack(bundle: Path, parent: Path) -> tuple[Path, Contents]:
    """Check ``bundle`` and unpack it into a folder below ``parent``, unless that was done before.

    The folder then has the files that the manifest lists and no other, also if it is an old one.
    Returns the folder, and what the bundle is for.

    Raises:
        ArtifactError: it is no bundle, incomplete, not the bytes that were written, or its manifest
            is not valid.
        FileError: it cannot be read, or its files cannot be written.
    """
    try:
        digest = _checked(bundle)
    except OSError as error:
        raise file_error("read", bundle, error) from error
    place = parent / digest
    try:
        if place.is_dir():
            with suppress(ArtifactError):
                return place, _compared(place)
            console.say(f"{place} was changed, and is unpacked again")
        with temporary_folder(parent) as temporary:
            tree = temporary / "tree"
            _extract(bundle, tree)
            contents = _compared(tree)
            if place.exists():
                os.replace(place, temporary / "changed")
            os.replace(tree, place)
    except OSError as error:
        raise file_error("write", place, error) from error
    return place, contents


def _checked(bundle: Path) -> str:
    """The sha256 of the archive in ``bundle``, which must be that of its last block."""
    length = bundle.stat().st_size - _BLOCK
    with bundle.open("rb") as stream:
        if length > 0:
            stream.seek(length)
        end = stream.read(_BLOCK)
        if length <= 0 or not end.startswith(_END):
            what = f"{bundle} is not a complete bundle: its last block is not that of a bundle."
            raise ArtifactError(Problem(what=what, fix=DAMAGED))
        stream.seek(0)
        digest = hashlib.sha256()
        for left in range(length, 0, -_CHUNK):
            digest.update(stream.read(min(left, _CHUNK)))
    found = digest.hexdigest()
    if end != (_END + found.encode() + b"\n").ljust(_BLOCK, b"\0"):
        what = f"{bundle} was changed after it was made: its last block has another sha256."
        raise ArtifactError(Problem(what=what, fix=DAMAGED))
    return found


def _extract(bundle: Path, tree: Path) -> None:
    try:
        # Plain tar: an archive that is compressed may be of any size.
        with tarfile.open(bundle, "r:") as archive:
            extract(archive, tree)
    except (tarfile.TarError, ValueError, RecursionError, MemoryError) as error:
        # The bytes are those that were written, so the writer was not ours.
        raise ArtifactError(f"{bundle} cannot be unpacked: {error}.") from error


def _compared(tree: Path) -> Contents:
    """What the manifest of ``tree`` says, if the files are those that it lists.

    Raises:
        ArtifactError: they are not, or the manifest is not valid.
    """
    path = tree / MANIFEST
    manifest = read_object(path)
    if manifest.get("schema") != _SCHEMA:
        what = (
            f"the bundle is of another version of cannery ({str(manifest.get('schema'))[:20]!r})."
        )
        raise ArtifactError(Problem(what=what, fix="Make it again with this checkout."))
    contents = _contents(path, manifest)
    listed = manifest.get("files")
    found = [each for each in _listed(tree) if each["path"] != MANIFEST]
    if not isinstance(listed, list) or listed != found:
        other = [
            each["path"] for each in found if not isinstance(listed, list) or each not in listed
        ]
        named = f" ({printable(some_of(other, 5))})" if other else ""
        raise invalid(path, f"its files are not those in the bundle{named}")
    return contents


def _contents(path: Path, manifest: Mapping[str, Any]) -> Contents:
    simulate, commit = manifest.get("simulate"), manifest.get("commit")
    targets, images = manifest.get("targets"), manifest.get("images")
    if not isinstance(simulate, bool):
        raise invalid(path, "'simulate' is not true or false")
    if not is_text(commit, "([0-9a-f]{40}|[0-9a-f]{64})?"):
        raise invalid(path, "'commit' is not a commit")
    if not isinstance(targets, dict) or not all(
        is_text(name, r"[\w.-]{1,200}") and is_text(key, "(sha256:)?[0-9a-f]{64}")
        for name, key in targets.items()
    ):
        raise invalid(path, "'targets' does not name targets and their content keys")
    if not isinstance(images, dict) or not all(
        is_text(image, "sha256:[0-9a-f]{64}") for image in images.values()
    ):
        raise invalid(path, "'images' does not name images and their ids")
    return Contents(simulate=simulate, targets=targets, images=images, commit=str(commit))
