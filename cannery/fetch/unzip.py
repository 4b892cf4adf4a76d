# SPDX-License-Identifier: Apache-2.0
"""Takes one file out of a vendor's zip, or out of the one zip in it."""

from __future__ import annotations

import errno
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cannery.common.errors import ArtifactError, Problem
from cannery.fetch.transfer import disk_error

_LARGEST = 1 << 36
"""The most bytes that a member may have when it is unpacked: 64 GiB."""

_RATIO = 1100
"""More than deflate can compress (zlib.net, technical details): a member that claims more lies."""

_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError),
    *(KeyError, OverflowError),
)


@dataclass(frozen=True)
class Archive:
    """The zip ``path``, which people know as ``name``. It is unpacked into ``folder``."""

    path: Path
    name: str
    folder: Path
    is_inner: bool = False

    def take(self, wanted: str) -> Path:
        """Unpack the file ``wanted``, of this zip or of the one zip in it."""
        with self._opened() as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            if direct := self._member(members, wanted):
                return self._unpack(archive, direct)
            zips = [each for each in members if each.filename.endswith(".zip")]
            if self.is_inner or len(zips) != 1:
                raise self._wrong(f"it does not contain {wanted}")
            path = self._unpack(archive, zips[0])
        return Archive(path, path.name, self.folder / "inner", is_inner=True).take(wanted)

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                yield archive
        except _DAMAGED as error:
            raise self._wrong(f"it is damaged ({error})") from error
        except OSError as error:
            if error.errno in (None, errno.EINVAL):  # a seek to where nothing can be
                raise self._wrong("it is damaged") from error
            raise disk_error(self.folder, error) from error

    def _wrong(self, why: str) -> ArtifactError:
        fix = "Nothing was taken from it. Report this to whoever serves the file."
        return ArtifactError(Problem(what=f"cannot use {self.name}: {why}.", fix=fix))

    def _member(self, members: list[zipfile.ZipInfo], wanted: str) -> zipfile.ZipInfo | None:
        """The one member with the name ``wanted``, whatever its folder in the archive."""
        found = [each for each in members if each.filename.rpartition("/")[2] == wanted]
        if len(found) > 1:
            raise self._wrong(f"it contains {wanted} {len(found)} times")
        return found[0] if found else None

    def _unpack(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Path:
        """Unpack ``member`` under its name alone, so that no path in an archive is followed."""
        name = member.filename.rpartition("/")[2]
        if name in ("", ".", "..") or "\0" in name or "\\" in name:
            raise self._wrong(f"it contains the invalid name {member.filename!r}")
        if member.file_size > min(_LARGEST, _RATIO * max(member.compress_size, 1)):
            raise self._wrong(f"{name} in it would have {member.file_size:,} bytes")
        path = self.folder / name
        if path.exists():
            return path
        self.folder.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, path.open("wb") as destination:
            # zipfile ends a member at its size, and compares its checksum there.
            shutil.copyfileobj(source, destination, 1 << 20)
        return path
