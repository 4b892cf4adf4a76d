# SPDX-License-Identifier: Apache-2.0
"""Wheels that no package index has: files, and those that a build makes from sdists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class VendorWheel:
    """A wheel that no package index serves.

    ``file`` may hold ``{tag}`` and ``{abi}`` for the interpreter's wheel tags, and ``{machine}``.
    ``requirements`` are its own, where packages of an index require it.
    """

    version: str
    file: str
    origin: str
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TorchIndex:
    """A further package index, with builds of torch for another device than the usual index.

    ``local`` is the local version of these builds, as in ``cpu`` for torch 2.9.0+cpu.
    """

    name: str
    url: str
    local: str


@dataclass(frozen=True, kw_only=True)
class BuiltWheel:
    """A wheel that a stage of the Dockerfile builds from an sdist of a package index.

    ``package`` is the normalized name of the sdist. ``local`` is the local version that the build
    adds, as in ``empty`` for 0.7.3+empty. ``requirements`` must be importable when it is built,
    besides pip, torch and what torch needs; ``environment`` is that of the build.
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
