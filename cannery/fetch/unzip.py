# SPDX-License-Identifier: Apache-2.0
"""Takes one file out of a vendor's zip: the package, or a zip with it beside its signature."""

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

LARGEST_SIGNATURE = 1 << 24
"""The most bytes of a signature or a revocation list."""

_RATIO = 1100
"""More than deflate can compress (zlib.net, technical details): a member that claims more lies."""

_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError),
    *(KeyError, OverflowError),
)


@dataclass(frozen=True, kw_only=True)
class Signed:
    """A file whose content the vendor has signed, with the signature and the revocation list."""

    content: Path
    signature: Path
    revocations: Path | None


@dataclass(frozen=True)
class Archive:
    """The zip ``path``, which people know as ``name``. It is unpacked into ``folder``."""

    path: Path
    name: str
    folder: Path

    def take(self, wanted: str) -> tuple[Path, Signed | None]:
        """Unpack the file ``wanted``, and what is signed of the archive, if anything is.

        Raises:
            ArtifactError: the zip is damaged, or does not contain the file exactly once.
            FileError: the disk is full.
        """
        with self._opened() as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            signed = self._signed(archive, members, wanted)
            if direct := self._member(members, wanted):
                if signed and signed.content.name != wanted:
                    raise self._wrong(f"the signature in it is not of {wanted}")
                return self._unpack(archive, direct, _LARGEST), signed
        if signed and signed.content.suffix == ".zip":
            inner = Archive(signed.content, signed.content.name, self.folder / "inner")
            path, _ = inner.take(wanted)
            return path, signed
        raise self._wrong(f"it does not contain {wanted}")

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

    def _signed(
        self, archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], wanted: str
    ) -> Signed | None:
        """What the signature in the archive is of; None if the archive has no signature."""
        names = [each.filename.rpartition("/")[2] for each in members]
        signatures = [name for name in names if name.endswith(".cms")]
        signatures.sort(key=lambda name: name != f"{wanted}.cms")
        if not signatures:
            return None
        content = signatures[0].removesuffix(".cms")
        found: dict[str, Path] = {}
        for name, most in (
            (content, _LARGEST),
            (signatures[0], LARGEST_SIGNATURE),
            (f"{content}.crl", LARGEST_SIGNATURE),
        ):
            if member := self._member(members, name):
                found[name] = self._unpack(archive, member, most)
        if content not in found:
            raise self._wrong(f"it contains {signatures[0]}, but not the file that it signs")
        return Signed(
            content=found[content],
            signature=found[signatures[0]],
            revocations=found.get(f"{content}.crl"),
        )

    def _unpack(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> Path:
        """Unpack ``member`` under its name alone, so that no path in an archive is followed."""
        name = member.filename.rpartition("/")[2]
        if name in ("", ".", "..") or "\0" in name or "\\" in name:
            raise self._wrong(f"it contains the invalid name {member.filename!r}")
        if member.file_size > min(most, _RATIO * max(member.compress_size, 1)):
            raise self._wrong(f"{name} in it would have {member.file_size:,} bytes")
        path = self.folder / name
        if path.exists():
            return path
        self.folder.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, path.open("wb") as destination:
            # zipfile ends a member at its size, and compares its checksum there.
            shutil.copyfileobj(source, destination, 1 << 20)
        return path
