# SPDX-License-Identifier: Apache-2.0
"""Plain tar archives from elsewhere: all members are checked before the first is unpacked.

No name in an archive is resolved: each folder is opened in the one around it, without following a
link, so that links lead no file elsewhere, neither those of the archive nor those of other users.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import IO, BinaryIO, Literal

from cannery.common.errors import file_error
from cannery.common.files import open_file

_PIECE = 1 << 20
"""The most bytes that are read at once, and of a header."""

_MOST_MEMBERS = 50_000
_DEEPEST = 30
"""The most folders of a path, with the file."""

_LONGEST_PATH = 1000
_LONGEST_NAME = 255
"""The most bytes of a path, and on Linux of a name."""

_KINDS = {*tarfile.REGULAR_TYPES, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE}

_HEADERS = {
    *(tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
}

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW

_DAMAGED = (ValueError, LookupError, OverflowError, RecursionError, MemoryError)
"""Errors of tarfile for headers that no program writes."""


class _Member(tarfile.TarInfo):
    """A member whose header is in memory as a whole, so that its size has a limit.

    The fields are judged as they are set, because the methods that read a header are other ones
    from Python 3.13.5 on.
    """

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        kind, size = getattr(self, "type", tarfile.REGTYPE), getattr(self, "size", 0)
        if kind == tarfile.XGLTYPE:
            # tarfile copies all of it to each member.
            raise tarfile.ReadError("it has a header for all members, which no image needs")
        if size < 0 or (kind in _HEADERS and size > _PIECE):
            raise tarfile.ReadError(f"a header claims to have {size:,} bytes")


def read_tar(stream: BinaryIO | IO[bytes], mode: Literal["r:", "r|", "r|*"]) -> tarfile.TarFile:
    """The archive ``stream``, whose headers may claim any size."""
    return tarfile.open(fileobj=stream, mode=mode, tarinfo=_Member)


@dataclass(frozen=True, kw_only=True)
class Archive:
    """An open archive, whose ``members``, by their path in it, have passed all checks."""

    tar: tarfile.TarFile
    sha256: str
    members: Mapping[str, tarfile.TarInfo]

    def read(self, name: str, most: int) -> bytes:
        """Up to ``most`` bytes of the file ``name``; TarError if there is no such file."""
        member = self.members.get(name)
        content = self.tar.extractfile(member) if member and member.isreg() else None
        if content is None:
            raise tarfile.TarError(f"it has no {name}, so it is incomplete")
        return content.read(most)

    def extract(self, folder: Path) -> None:
        """Unpack all members into ``folder``, which is made.

        Raises:
            OSError: a file cannot be written, or somebody else changes ``folder`` meanwhile.
        """
        folder.mkdir()
        root = os.open(folder, _FOLDER)
        try:
            for name, member in self.members.items():
                self._put(root, _parts(name), member)
        finally:
            os.close(root)

    def _put(self, root: int, path: Sequence[str], member: tarfile.TarInfo) -> None:
        if member.isdir():
            with _inner(root, path):
                return
        *way, name = path
        with _inner(root, way) as folder:
            if member.issym():
                os.symlink(member.linkname, name, dir_fd=folder)
            elif member.islnk():
                *way, source = _parts(member.linkname)
                with _inner(root, way) as other:
                    os.link(
                        source, name, src_dir_fd=other, dst_dir_fd=folder, follow_symlinks=False
                    )
            elif content := self.tar.extractfile(member):
                with os.fdopen(os.open(name, _NEW_FILE, 0o600, dir_fd=folder), "wb") as stream:
                    shutil.copyfileobj(content, stream, _PIECE)
                    rights = 0o755 if member.mode & 0o100 else 0o644
                    os.fchmod(stream.fileno(), 0o600 | member.mode & rights)


@contextmanager
def opened(path: Path, sha256: str = "") -> Iterator[Archive]:
    """The archive ``path``, and every member of it checked.

    Raises:
        FileError: it cannot be read.
        tarfile.TarError: its hash is not ``sha256``, unless that is empty; it is damaged; or a
            member is or leads outside of the archive, is a device or a pipe, has the rights of
            another user, or is in it twice.
    """
    try:
        stream = open_file(path)
    except OSError as error:
        raise file_error("read", path, error) from error
    with stream:
        try:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if sha256 and sha256 != digest:
                raise tarfile.ReadError(f"its sha256 is {digest}, and not {sha256}")
            stream.seek(0)
            # An archive that is compressed may be of any size.
            tar = read_tar(stream, "r:")
            members = _checked(tar)
        except OSError as error:
            raise file_error("read", path, error) from error
        except _DAMAGED as error:
            raise tarfile.TarError(str(error) or type(error).__name__) from error
        yield Archive(tar=tar, sha256=digest, members=members)


def leads_out(name: str, target: str) -> bool:
    """Whether the symbolic link ``name``, a relative path, to ``target`` may leave its tree.

    A target may go up before it goes down, and not after that: ``a/..`` is another folder than
    the first one if ``a`` is a link.
    """
    parts = _parts(target)
    up = len([*takewhile("..".__eq__, parts)])
    return not target or target[0] == "/" or up > name.count("/") or ".." in parts[up:]


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part not in ("", ".")]


@contextmanager
def _inner(folder: int, names: Sequence[str]) -> Iterator[int]:
    """The folder at the end of ``names`` in ``folder``, which is made where it is missing."""
    inner = os.dup(folder)
    try:
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=inner)
            outer, inner = inner, os.open(name, _FOLDER, dir_fd=inner)
            os.close(outer)
        yield inner
    finally:
        os.close(inner)


def _checked(tar: tarfile.TarFile) -> dict[str, tarfile.TarInfo]:
    """Path to member; TarError if a member must not be unpacked."""
    members: dict[str, tarfile.TarInfo] = {}
    folders, others = {""}, set[str]()
    for member in tar:
        parts = _parts(member.name)
        name = "/".join(parts)
        why = _refusal(member, parts, members)
        above = {"/".join(parts[:length]) for length in range(len(parts[:_DEEPEST]))}
        is_taken = name in others or (name in folders and not member.isdir())
        if not why and (is_taken or above & others):
            why = "is in it twice, or below what is not a folder"
        if not why and len(members) == _MOST_MEMBERS:
            why = f"is one more than {_MOST_MEMBERS:,} members"
        if why:
            raise tarfile.TarError(f"{member.name[:200]!r} {why}")
        members[name] = member
        (folders if member.isdir() else others).add(name)
        folders |= above
    return members


def _refusal(
    member: tarfile.TarInfo, parts: Sequence[str], before: Mapping[str, tarfile.TarInfo]
) -> str:
    """Why ``member`` must not be unpacked after the members ``before``; empty if it may."""
    name, target = "/".join(parts), member.linkname
    source = before.get("/".join(_parts(target))) if target[:1] != "/" else None
    path = os.fsencode(name)
    checks = {
        "is outside of the folder": member.name.startswith("/") or ".." in parts,
        "cannot be the name of a file": "\0" in member.name + target
        or not (parts or member.isdir())
        or max(map(len, path.split(b"/"))) > _LONGEST_NAME,
        "has too long a path": max(len(path), len(os.fsencode(target))) > _LONGEST_PATH
        or len(parts) > _DEEPEST,
        "claims another size than it has": member.size < 0 or member.issparse(),
        f"leads out of the folder, to {target[:200]!r}": member.issym() and leads_out(name, target),
        f"is a link to {target[:200]!r}, which is no file before it": member.islnk()
        and not (source and (source.isreg() or source.islnk())),
        "has the rights of another user or group": member.isreg() and member.mode & 0o6000,
        "is a device or a pipe": member.type not in _KINDS,
    }
    return next((why for why, applies in checks.items() if applies), "")
