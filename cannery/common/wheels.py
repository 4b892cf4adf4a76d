# SPDX-License-Identifier: Apache-2.0
"""Wheels that no package index has: files, and those that a build makes from sdists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.tags import Tag, compatible_tags, cpython_tags


@dataclass(frozen=True, kw_only=True)
class VendorWheel:
    """A wheel that no index has; its ``file`` may have ``{tag}``, ``{abi}`` and ``{machine}``.

    ``sha256`` maps names of files to their hashes, where somebody publishes them.
    """

    version: str
    file: str
    origin: str
    sha256: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...] = ()
    download: tuple[str, ...] = ()
    """The addresses of folders that have its files."""

    @property
    def file_version(self) -> str:
        """The version in the names of its files, as in ``2.9.0+cpu`` of version 2.9.0."""
        return self.file.split("-")[1]


def for_machine(wheel: VendorWheel | None, machine: str) -> VendorWheel | None:
    """``wheel``, unless its file names another machine."""
    others = MACHINES.keys() - {machine}
    is_others = wheel is not None and any(f"_{each}." in wheel.file for each in others)
    return None if is_others else wheel


@dataclass(frozen=True, kw_only=True)
class TorchIndex:
    """An index with builds of torch for another device; ``local`` is ``cpu`` in 2.9.0+cpu."""

    name: str
    url: str
    local: str


@dataclass(frozen=True, kw_only=True)
class BuiltWheel:
    """A wheel that the Dockerfile builds from the sdist of ``package``, a normalized name.

    ``local`` is added by the build, as ``empty`` in 0.7.3+empty. ``requirements`` and
    ``environment`` are those of the build, besides pip, torch and its requirements.
    """

    package: str
    version: str
    local: str = ""
    requirements: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def requirement(self) -> str:
        """The sdist, as in ``vllm==0.7.3``."""
        return f"{self.package}=={self.version}"

    @property
    def installed_version(self) -> str:
        """The version of the wheel, as in ``0.7.3+empty``."""
        return f"{self.version}+{self.local}" if self.local else self.version


MACHINES: Mapping[str, int] = {"aarch64": 17, "x86_64": 5}
"""Machine to the minor version of glibc 2 in the oldest platform that wheels are made for."""

_NEWEST_OF_UV = 40
"""The minor version of glibc 2 in the newest platform that uv 0.13 has a name for."""

OLD_PLATFORMS: Mapping[str, tuple[int, int]] = {
    "manylinux2014": (2, 17),
    "manylinux2010": (2, 12),
    "manylinux1": (2, 5),
}
"""Names for platforms to the glibc that they stand for (PEP 600)."""


@dataclass(frozen=True, kw_only=True)
class WheelPlatform:
    """An interpreter and its system, as in 3.9.2, cp39, aarch64 and 2.31."""

    python: str
    abi: str
    machine: str
    glibc: str

    @property
    def uv_name(self) -> str:
        """The system as uv names it, such as ``aarch64-manylinux_2_31``."""
        return f"{self.machine}-manylinux_{self._newest.replace('.', '_')}"

    @property
    def _newest(self) -> str:
        """The glibc of the newest installable wheels, with uv's newest as the limit."""
        major, minor = self.glibc.split(".")
        return f"{major}.{min(int(minor), _NEWEST_OF_UV)}"

    @property
    def tags(self) -> list[Tag]:
        """The supported tags, best first, in the order of uv and pip."""
        major, minor = map(int, self.python.split(".")[:2])
        systems = platforms(self.machine, self._newest)
        own = cpython_tags((major, minor), [self.abi], systems)
        return [*own, *compatible_tags((major, minor), f"cp{major}{minor}", systems)]


def platforms(machine: str, glibc: str) -> list[str]:
    """The platform tags of wheels that run on ``machine`` with ``glibc``, best first."""
    major, minor = map(int, glibc.split("."))
    names = []
    for number in range(minor, MACHINES[machine] - 1, -1):
        names.append(f"manylinux_{major}_{number}")
        names += [name for name, glibc in OLD_PLATFORMS.items() if glibc == (major, number)]
    return [f"{name}_{machine}" for name in (*names, "linux")]
