# SPDX-License-Identifier: Apache-2.0
"""Files that no package registry serves, and where CANN can be had; nothing is read or written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CannSource(StrEnum):
    """Where the parts of a CANN release are taken from."""

    FOLDER = "folder"
    """The folder of ``--artifacts``."""
    DOWNLOAD = "download"
    """A server of files: Huawei's, or one of cannery.toml."""
    IMAGE = "image"
    """/usr/local/Ascend of the vendor's own image."""
    INDEX = "index"
    """The vendor's wheels, from a package index."""


DEFAULT_ORDER = (CannSource.FOLDER, CannSource.DOWNLOAD)
"""The sources that are tried where nothing else is asked for, the first one first."""


@dataclass(frozen=True, kw_only=True)
class Address:
    """One URL of a file, with the request headers, name and value, that its server asks for."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that no package registry serves.

    ``sha256`` is empty where nobody publishes one, and ``size``, in bytes, is 0 where it is not
    known. ``zip`` is a published archive that contains the file. ``eula`` is where the licence is
    that must be accepted before the file is downloaded.
    """

    name: str
    origin: str
    sha256: str = ""
    size: int = 0
    addresses: tuple[Address, ...] = ()
    zip: File | None = None
    eula: str = ""

    @property
    def is_downloadable(self) -> bool:
        """Whether a server of the vendor is known to have it, or a zip with it."""
        return bool(self.addresses or (self.zip and self.zip.addresses))

    @property
    def has_hash(self) -> bool:
        """Whether somebody publishes a sha256 of it, or of the zip with it."""
        return bool(self.sha256 or self.zip)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source archive that goes, unpacked, into ``/opt/FOLDER``, where Python finds it."""

    folder: str
    file: File
