# SPDX-License-Identifier: Apache-2.0
"""The CANN releases that matrix.yaml defines. Nothing here reads or writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cannery.common.sources import File


class Layout(StrEnum):
    """How a CANN release lays itself out below /usr/local/Ascend."""

    ASCEND_TOOLKIT = "ascend-toolkit"
    """``ascend-toolkit/latest``: every release before 8.5."""
    CANN = "cann"
    """``cann-VERSION``: 8.5 and later."""


@dataclass(frozen=True, kw_only=True)
class CannPackages:
    """The packages of a release for one machine. ``kernels`` maps a chip to its package."""

    toolkit: File
    kernels: Mapping[str, File]
    nnal: File | None

    @property
    def files(self) -> tuple[File, ...]:
        """Every package."""
        return (self.toolkit, *self.kernels.values(), *([self.nnal] if self.nnal else []))


@dataclass(frozen=True, kw_only=True)
class CannRelease:
    """One CANN release: where its parts can be had, and what its Python parts need.

    ``packages`` maps a machine (aarch64 or x86_64) to its packages, ``images`` a chip to the
    reference of the vendor's image. ``emulated`` installers run on the machine of the target, not
    on the building one.
    """

    version: str
    layout: Layout
    emulated: bool = False
    interim: bool
    nearest_public: str
    packages: Mapping[str, CannPackages]
    images: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[str, ...]

    @property
    def chips(self) -> tuple[str, ...]:
        """The chips that it has kernels for."""
        return tuple(
            dict.fromkeys(chip for each in self.packages.values() for chip in each.kernels)
        )

    @property
    def has_nnal(self) -> bool:
        """Whether it has NNAL for some machine."""
        return any(each.nnal for each in self.packages.values())
