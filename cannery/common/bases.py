# SPDX-License-Identifier: Apache-2.0
"""Base images, the distributions that they are of, and interpreters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


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


_LAST_PYMALLOC = 7


class PackageManager(StrEnum):
    """What installs the packages of a base. The templates have one file for each."""

    APT = "apt"
    """Packages are unpacked on the building machine; only their own scripts are emulated."""
    DNF = "dnf"
    """The base's own dnf installs them, under emulation on a machine of another architecture."""


PYTHON = "python"
"""What a layer asks for to have the base's own interpreter, with its headers and venv."""

EVERY_IMAGE = ("certificates", "compiler", "aio", "numa", "network", "pci", "processes", "ssh")
"""What the first layer of every image asks for: a compiler for extensions that are built on first
use (such as DeepSpeed's operators), programs that CANN's installers and npu-smi call, and an ssh
client for DeepSpeed's launcher."""


LIBRARIES = "libraries"
"""What the first layer of an image without a compiler asks for: libraries that come with the
compiler or with header files otherwise, and that packages and CANN may be linked with."""

MPI = "mpi"
"""What the HCCL tests ask for: MPICH, which starts them, with its headers."""

_COMPILER = ("compiler", "aio", "numa")
"""Those of ``EVERY_IMAGE`` that only a compiler uses."""

_HEADERS = ("-dev", "-devel")
"""How the names of packages with header files end, in Debian's and in RPM's distributions."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A distribution, or distributions with the same names of packages.

    ``packages`` maps what a layer asks for (``EVERY_IMAGE``, ``LIBRARIES``, ``PYTHON``, ``MPI``) to
    names of packages.
    ``site_packages`` is the folder in which the base's own interpreter finds installed packages;
    it has ``{minor}``. ``native_python`` says whether the building machine can have the same
    interpreter from the same place, to compile an image's Python files.
    """

    name: str
    package_manager: PackageManager
    packages: Mapping[str, tuple[str, ...]]
    site_packages: str
    native_python: bool

    def packages_for(self, *wanted: str) -> tuple[str, ...]:
        """The sorted names of the packages for ``wanted``.

        What has no entry in ``packages`` is itself the name of a package.
        """
        return tuple(sorted({each for name in wanted for each in self.packages.get(name, (name,))}))

    def first_packages(self, *, own_python: bool, compiler: bool) -> tuple[str, ...]:
        """The sorted names of the packages of the first layer of an image.

        ``own_python`` says whether the interpreter is the base's. Without ``compiler`` there is
        no package with header files either.
        """
        python = (PYTHON,) if own_python else ()
        if compiler:
            return self.packages_for(*EVERY_IMAGE, *python)
        wanted = [name for name in EVERY_IMAGE if name not in _COMPILER]
        packages = self.packages_for(*wanted, LIBRARIES, *python)
        return tuple(each for each in packages if not each.endswith(_HEADERS))


@dataclass(frozen=True, kw_only=True)
class Base:
    """An operating system image, and the release of the distribution that it has.

    ``image`` has a digest unless nobody has looked it up yet. ``mirrors`` are references to the
    same image in other registries, which are tried first. ``stand_in`` is the program that makes
    an image in its place if no registry can be reached; None if there is none.
    """

    name: str
    image: str
    suite: str
    glibc: str
    distribution: Distribution
    mirrors: tuple[str, ...] = ()
    stand_in: Path | None = None

    @property
    def is_pinned(self) -> bool:
        """Whether the image is always the same one."""
        return "@" in self.image

    def bootstrap_tag(self, architecture: str) -> str:
        """The local tag of the stand-in for this image."""
        return f"cannery/bootstrap:{self.suite}-{architecture}"


class Origin(StrEnum):
    """Where the image of a base is from that a build uses."""

    REGISTRY = "registry"
    """BuildKit pulls it by its digest."""
    LOCAL = "local"
    """The user has loaded it, and no registry can be reached."""
    STAND_IN = "stand-in"
    """A program of this machine has made it, because no registry can be reached."""


@dataclass(frozen=True, kw_only=True)
class FoundBase:
    """The image of a base that a build uses.

    ``reference`` is what the Dockerfile names. ``identity`` is a part of the content key: a
    reference with a digest, or the id of a local image.
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
    """One interpreter. ``version`` has the patch level.

    ``archives`` maps machines, such as aarch64, to the archives of STANDALONE; ``base`` is the name
    of the base that has it otherwise.
    """

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
