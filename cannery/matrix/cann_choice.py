# SPDX-License-Identifier: Apache-2.0
"""Which CANN packages a target takes: its mapping ``cann``, read and compared with the releases."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from cannery.common.model import USUAL_CHIP, CannRelease, chip_hint
from cannery.common.yaml_reader import Section
from cannery.compat import Compat
from cannery.compat.files import file_name, has_chip, has_nnal
from cannery.matrix.definitions import Definitions

_ONE_CHIP = (
    "The operator packages of several chips cannot share one installation path "
    "(CANN installation guide, 8.5 to 9.1). Write one target for each chip."
)


@dataclass(frozen=True, kw_only=True)
class CannChoice:
    """The releases that the packages are of; ``nnal`` is None without NNAL."""

    toolkit: CannRelease
    kernels: CannRelease
    nnal: CannRelease | None
    chip: str


def choose_cann(
    target: Section, definitions: Definitions, platform: str, compat: Compat | None
) -> CannChoice | None:
    """What ``cann`` and ``chip`` of a target for ``platform`` ask for; mistakes become problems.

    A version alone stands for the toolkit, the kernels and, if it has it, the NNAL of a release.
    """
    chip, own_chip = _chip(target), target.take("chip", required=False) is not None
    if isinstance(target.take("cann"), yaml.ScalarNode):
        release = target.choose("cann", definitions.cann, "CANN release")
        if release is None or not _has_kernels(target, release, chip, platform, compat):
            return None
        nnal = release if release.has_nnal else None
        return CannChoice(toolkit=release, kernels=release, nnal=nnal, chip=chip)
    section = target.section("cann")
    if section is None:
        return None
    inner_chip = _chip(section)
    if own_chip and section.take("chip", required=False) is not None:
        target.wrong("chip", "the chip is given twice, first in 'cann'.", "Keep one of them.")
    toolkit = section.choose("toolkit", definitions.cann, "CANN release")
    kernels = section.choose("kernels", definitions.cann, "CANN release")
    with_nnal = bool(section.text("nnal", required=False))
    nnal = section.choose("nnal", definitions.cann, "CANN release") if with_nnal else None
    chip = chip if own_chip else inner_chip
    section.done()
    if toolkit is None or kernels is None or not chip or (with_nnal and nnal is None):
        return None
    if nnal is not None and not nnal.has_nnal:
        section.wrong(
            "nnal",
            f"matrix.yaml has no NNAL file of CANN {nnal.version}.",
            _add_nnal(nnal, platform, compat),
        )
    at = target if own_chip else section
    if not _has_kernels(at, kernels, chip, platform, compat):
        return None
    return CannChoice(toolkit=toolkit, kernels=kernels, nnal=nnal, chip=chip)


def _chip(section: Section) -> str:
    if isinstance(section.take("chip", required=False), yaml.SequenceNode):
        section.wrong("chip", "a target is for one chip.", _ONE_CHIP)
        return ""
    return section.text("chip", required=False, default=USUAL_CHIP)


def _has_kernels(
    section: Section, release: CannRelease, chip: str, platform: str, compat: Compat | None
) -> bool:
    if chip and chip not in release.chips:
        section.wrong(
            "chip",
            f"matrix.yaml has no kernels file of CANN {release.version} for chip {chip!r}.",
            _add_kernels(release, chip, platform, compat),
        )
    return chip in release.chips


def _add_kernels(release: CannRelease, chip: str, platform: str, compat: Compat | None) -> str:
    """Where the file would be declared, if Huawei is known to make it; else a chip that is."""
    if compat and has_chip(compat, release, chip):
        name = file_name(compat, "kernels", release, chip, platform)
        declared = f"{chip}: {{file: {name}, origin: ...}} to its kernels"
        return f"Huawei has it: add {chip} to its chips, or {declared}."
    return chip_hint(chip, release.chips)


def _add_nnal(release: CannRelease, platform: str, compat: Compat | None) -> str:
    if compat and has_nnal(compat, release):
        name = file_name(compat, "nnal", release, "", platform)
        return f"Huawei has it: add nnal: {{file: {name}, origin: ...}} to the release."
    return "Leave nnal out."
