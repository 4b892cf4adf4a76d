# SPDX-License-Identifier: Apache-2.0
"""How Huawei names the packages of a CANN release, and which of them are known to exist."""

from __future__ import annotations

from cannery.common.cann import CannRelease
from cannery.common.cann_version import CannVersion
from cannery.compat.facts import Compat, FileName

_MACHINES = {"linux/arm64": "aarch64", "linux/amd64": "x86_64"}


def judged_as(release: CannRelease) -> CannVersion:
    """The release that rows are looked up for: for an interim build the nearest public one.

    Raises:
        ValueError: its version is not a CANN version.
    """
    return CannVersion.parse(release.nearest_public if release.interim else release.version)


def file_row(compat: Compat, component: str, cann: CannVersion, chip: str) -> FileName | None:
    """The row with Huawei's name for the file of ``component``, if there is one."""
    for row in compat.files:
        if row.component == component and cann in row.cann and chip in (row.chips or (chip,)):
            return row
    return None


def name_in(row: FileName, version: str, chip: str, machine: str) -> str:
    """The name that ``row`` gives to the file of CANN ``version``."""
    # The community's files drop the .beta1 of the release's name.
    return row.file.format(version=version.removesuffix(".beta1"), chip=chip, machine=machine)


def file_name(
    compat: Compat, component: str, release: CannRelease, chip: str, platform: str
) -> str:
    """Huawei's name for the file of ``component``; "" where it is not known."""
    row = file_row(compat, component, judged_as(release), chip)
    return name_in(row, release.version, chip, _MACHINES.get(platform, "")) if row else ""


def has_chip(compat: Compat, release: CannRelease, chip: str) -> bool:
    """Whether kernels for ``chip`` were seen for ``release``."""
    return any(chip in row.chips and row.cann in _names(release) for row in compat.releases)


def has_nnal(compat: Compat, release: CannRelease) -> bool:
    """Whether NNAL was seen for ``release``."""
    return any(row.nnal and row.cann in _names(release) for row in compat.releases)


def _names(release: CannRelease) -> list[CannVersion]:
    try:
        return [CannVersion.parse(release.version), judged_as(release)]
    except ValueError:
        return []
