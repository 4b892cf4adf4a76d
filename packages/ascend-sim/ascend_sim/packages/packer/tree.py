# SPDX-License-Identifier: Apache-2.0
"""A file tree in memory, and the byte-reproducible archives that are made of it."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from .errors import PackError

# 1980-01-01 UTC, the earliest moment that zip can express: one date for all that is packed.
TIMESTAMP = 315532800

ELF_MACHINES = {183: "aarch64", 62: "x86_64"}


@dataclass(frozen=True)
class File:
    """What the file has in it, and its permission bits."""

    content: bytes
    mode: int = 0o644


@dataclass(frozen=True)
class Stream:
    """A file that is too large to be kept in memory."""

    size: int
    mode: int
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True)
class Link:
    """A symbolic link; the target is kept as it is written, mostly relative."""

    target: str


class Tree:
    """Paths are relative, with slashes; the folders above a path are added with it."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.streams: dict[str, Stream] = {}
        self.links: dict[str, Link] = {}
        self.directories: set[str] = set()

    def add_directory(self, path: str) -> None:
        pure = PurePosixPath(path)
        self.directories.update(str(p) for p in (pure, *pure.parents) if p.name)

    def add_file(self, path: str, content: bytes | str, *, mode: int = 0o644) -> None:
        data = content.encode() if isinstance(content, str) else content
        self.add_directory(str(PurePosixPath(path).parent))
        self.files[path] = File(data, mode)

    def add_link(self, path: str, target: str) -> None:
        self.add_directory(str(PurePosixPath(path).parent))
        self.links[path] = Link(target)

    def add_copy(self, source: Path, destination: str, arch: str) -> None:
        """Copies a compiled file, or a folder of them, that must be for `arch`."""
        if source.is_symlink() and not source.is_dir():
            self.add_link(destination, str(source.readlink()))
        elif source.is_dir():
            self.add_directory(destination)
            for child in sorted(source.iterdir()):
                self.add_copy(child, f"{destination}/{child.name}", arch)
        elif source.is_file():
            content = source.read_bytes()
            require_arch(source, content, arch)
            self.add_file(destination, content, mode=0o755 if os.access(source, os.X_OK) else 0o644)
        else:
            raise PackError(f"the device has no {source}: run device/build.sh first")

    def modes(self) -> dict[str, int]:
        """The permissions of each file."""
        files = {path: file.mode for path, file in self.files.items()}
        return files | {path: stream.mode for path, stream in self.streams.items()}

    def tar_gz(self) -> bytes:
        packed = io.BytesIO()
        self.write_tar_gz(packed, 9)
        return packed.getvalue()

    def write_tar_gz(self, to: IO[bytes], level: int) -> None:
        # Not gzip.compress, whose header differs between versions of Python.
        with (
            gzip.GzipFile("", "wb", level, to, mtime=0) as stream,
            tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
        ):
            for path in sorted({*self.directories, *self.files, *self.streams, *self.links}):
                self._add_member(archive, path)

    def _add_member(self, archive: tarfile.TarFile, path: str) -> None:
        member = tarfile.TarInfo(path)
        member.mtime = TIMESTAMP
        if path in self.files:
            file = self.files[path]
            member.mode = file.mode
            member.size = len(file.content)
            archive.addfile(member, io.BytesIO(file.content))
            return
        if path in self.streams:
            each = self.streams[path]
            member.mode, member.size = each.mode, each.size
            with each.open() as content:
                archive.addfile(member, content)
            return
        member.mode = 0o755
        if path in self.links:
            member.type, member.linkname = tarfile.SYMTYPE, self.links[path].target
        else:
            member.type = tarfile.DIRTYPE
        archive.addfile(member)

    def write_to(self, root: Path) -> None:
        for path in sorted(self.directories):
            (root / path).mkdir(parents=True, exist_ok=True)
        for path, file in sorted(self.files.items()):
            (root / path).write_bytes(file.content)
            (root / path).chmod(file.mode)
        for path, link in sorted(self.links.items()):
            # Another package may have made the same link, as to a folder that both have.
            (root / path).unlink(missing_ok=True)
            (root / path).symlink_to(link.target)


def require_arch(source: Path, content: bytes, arch: str) -> None:
    """Raises PackError for an ELF file of another architecture; other files fit every one."""
    if content[:4] != b"\x7fELF":
        return
    machine = int.from_bytes(content[18:20], "little")
    found = ELF_MACHINES.get(machine, f"ELF machine {machine}")
    if found != arch:
        raise PackError(f"{source} is for {found}, the spec asks for {arch}")
