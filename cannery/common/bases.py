# SPDX-License-Identifier: Apache-2.0
"""Base images, their distributions, interpreters, and files that no package index has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from cannery.common.errors import enumerated


class CannSource(StrEnum):
    """Where the parts of a CANN release are taken from."""

    FOLDER = "folder"
    """The folder of ``--artifacts``."""
    DOWNLOAD = "download"
    """A server of files: Huawei's, or one of cannery.toml."""
    APT = "apt"
    """The vendor's signed repository for apt."""
    IMAGE = "image"
    """/usr/local/Ascend of the vendor's own image."""
    INDEX = "index"
    """The vendor's wheels, from a package index."""


DEFAULT_ORDER = (CannSource.FOLDER, CannSource.DOWNLOAD)
"""The default order of sources."""


@dataclass(frozen=True, kw_only=True)
class Address:
    """One URL of a file, with the request headers for its server."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Published:
    """A sha256 of a file, where it was read, and on which day; an unknown ``size`` is 0."""

    sha256: str
    origin: str
    read: str
    size: int = 0

    def __str__(self) -> str:
        return f"{self.sha256} ({self.origin}, read {self.read})"


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that no package index has.

    ``sha256`` is empty if nobody publishes it, or if servers have different files of this name:
    ``variants`` has the hash of each. An unknown ``size`` in bytes is 0. ``zip`` is a published
    archive with the file, ``eula`` the address of a licence to accept before a download.
    """

    name: str
    origin: str
    sha256: str = ""
    variants: tuple[Published, ...] = ()
    size: int = 0
    addresses: tuple[Address, ...] = ()
    zip: File | None = None
    eula: str = ""

    @property
    def is_downloadable(self) -> bool:
        return bool(self.addresses or (self.zip and self.zip.addresses))

    @property
    def hashes(self) -> tuple[str, ...]:
        """Each sha256 that the file may have; none if nobody publishes one of the file itself."""
        own = (self.sha256,) if self.sha256 else ()
        return (*own, *(each.sha256 for each in self.variants))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Each size that it may have; none if one of them is not known."""
        sizes = [each.size for each in self.variants] or [self.size]
        return tuple(sizes) if all(sizes) else ()

    @property
    def published(self) -> str:
        """The published hashes, in words."""
        return enumerated([self.sha256] if self.sha256 else [*map(str, self.variants)])

    @property
    def has_hash(self) -> bool:
        return bool(self.hashes or self.zip)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source archive that is unpacked into ``/opt/FOLDER``, for Python."""

    folder: str
    file: File


_LAST_PYMALLOC = 7


class PackageManager(StrEnum):
    """The package manager of a base, with a template."""

    APT = "apt"
    """Packages are unpacked on the building machine; only their own scripts are emulated."""
    DNF = "dnf"
    """The base's own dnf installs them, under emulation on a machine of another architecture."""


PYTHON = "python"
"""The base's own interpreter, with its headers and venv."""

EVERY_IMAGE = ("certificates", "compiler", "aio", "numa", "network", "pci", "processes", "ssh")
"""The first layer of every image: a compiler for extensions that are built on first use (such as
DeepSpeed's operators), programs that CANN's installers and npu-smi call, and DeepSpeed's ssh."""

LIBRARIES = "libraries"
"""The first layer of an image without a compiler: libraries that packages and CANN may be linked
with, and that come with the compiler or with header files otherwise."""

MPI = "mpi"
"""MPICH with its headers, for the HCCL tests."""

_COMPILER = ("compiler", "aio", "numa")
"""Those of ``EVERY_IMAGE`` that only a compiler uses."""

_HEADERS = ("-dev", "-devel")
"""The ends of packages with header files, in Debian's and in RPM's distributions."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A distribution, or distributions with the same names of packages.

    ``packages`` maps ``EVERY_IMAGE``, ``LIBRARIES``, ``PYTHON`` and ``MPI`` to names of packages.
    ``site_packages`` is the folder of the base's own interpreter, with ``{minor}``. With
    ``native_python`` the building machine can install the same interpreter, which compiles Python
    files.
    """

    name: str
    package_manager: PackageManager
    packages: Mapping[str, tuple[str, ...]]
    site_packages: str
    native_python: bool

    def packages_for(self, *wanted: str) -> tuple[str, ...]:
        """The sorted names of the packages for ``wanted``; other names are packages themselves."""
        return tuple(sorted({p for name in wanted for p in self.packages.get(name, (name,))}))

    def first_packages(self, *, own_python: bool, compiler: bool) -> tuple[str, ...]:
        """The sorted packages of the first layer; without ``compiler`` no header files either."""
        python = (PYTHON,) if own_python else ()
        if compiler:
            return self.packages_for(*EVERY_IMAGE, *python)
        wanted = [name for name in EVERY_IMAGE if name not in _COMPILER]
        packages = self.packages_for(*wanted, LIBRARIES, *python)
        return tuple(package for package in packages if not package.endswith(_HEADERS))


@dataclass(frozen=True, kw_only=True)
class Base:
    """An operating system image with the release of its distribution.

    ``mirrors`` are references to the same image in other registries, which are tried first.
    ``stand_in`` is the program that makes an image if no registry can be reached. One with
    ``only_mirrors`` is taken from nowhere else.
    """

    name: str
    image: str
    suite: str
    glibc: str
    distribution: Distribution
    mirrors: tuple[str, ...] = ()
    stand_in: Path | None = None
    only_mirrors: bool = False

    @property
    def is_pinned(self) -> bool:
        return "@" in self.image

    def bootstrap_tag(self, architecture: str) -> str:
        """The local tag of the stand-in for this image."""
        return f"cannery/bootstrap:{self.suite}-{architecture}"


class Origin(StrEnum):
    """Where a base is from."""

    REGISTRY = "registry"
    """BuildKit pulls it by its digest."""
    LOCAL = "local"
    """The user has loaded it, and no registry can be reached."""
    STAND_IN = "stand-in"
    """A program of this machine has made it, because no registry can be reached."""


@dataclass(frozen=True, kw_only=True)
class FoundBase:
    """The image of a base in a build.

    ``identity``, for the content key, is a reference with a digest or the id of a local image.
    """

    reference: str
    identity: str
    origin: Origin


class PythonSource(StrEnum):
    """Where an image's interpreter comes from."""

    BASE = "base"
    """The base's own packages."""
    STANDALONE = "standalone"
    """A python-build-standalone archive, handed in as an artifact."""


@dataclass(frozen=True, kw_only=True)
class Python:
    """One interpreter: that of ``base``, or, by machine, an archive of STANDALONE."""

    name: str
    version: str
    source: PythonSource
    archives: Mapping[str, File] = field(default_factory=dict)
    base: str = ""

    @property
    def minor(self) -> str:
        """As in ``3.9``."""
        return ".".join(self.version.split(".")[:2])

    @property
    def tag(self) -> str:
        """The wheel tag of the interpreter, as in ``cp39``."""
        return "cp" + self.minor.replace(".", "")

    @property
    def abi(self) -> str:
        """The wheel tag of its ABI, as in ``cp39``; up to 3.7 with an m, as in ``cp37m``."""
        # The m stood for pymalloc, and went with Python 3.8.
        return self.tag + ("m" if int(self.minor.partition(".")[2]) <= _LAST_PYMALLOC else "")
