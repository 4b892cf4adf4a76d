# SPDX-License-Identifier: Apache-2.0
"""Reads what the CANN releases of one layout have in common: ``cann_layouts`` of matrix.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cannery.common.yaml_reader import Section
from cannery.matrix.file_definitions import Downloads, check_file_name, check_folder
from cannery.matrix.wheels import read_requirements

DEFAULT = "default"
"""The key of the name that kernels have for every chip without a name of its own."""

CHIP = re.compile(r"[a-z0-9]+")
_BRACES = (KeyError, IndexError, ValueError, AttributeError)
"""What a text raises that has something else in braces."""

_COMMUNITY = ".beta1"
"""The community's files drop it from the version (Ascend Extension for PyTorch 6.0.0 notes)."""


@dataclass(frozen=True, kw_only=True)
class CannDefaults:
    """What the releases of one layout have in common; what is empty, each must say itself.

    The names of files hold {release}, {chip} and {machine}. ``kernels`` maps a chip to such a name.
    """

    origin: str = ""
    download: str = ""
    toolkit: str = ""
    kernels: Mapping[str, str] = field(default_factory=dict)
    nnal: str = ""
    requirements: tuple[str, ...] = ()


def read_cann_defaults(section: Section, downloads: Downloads) -> CannDefaults:
    """The mapping of one layout under ``cann_layouts``; mistakes become problems."""
    inner = section.section("kernels", required=False)
    kernels = {chip: _pattern(inner, chip) for chip in inner.names()} if inner else {}
    for chip in kernels:
        assert inner
        check_chip(inner, chip, chip)
    download = section.text("download", required=False)
    if download:
        check_braces(section, "download", download)
        check_folder(section, download.replace("{release}", "8.5.0"), downloads)
    defaults = CannDefaults(
        origin=section.text("origin", required=False),
        download=download,
        toolkit=_pattern(section, "toolkit", required=False),
        kernels=kernels,
        nnal=_pattern(section, "nnal", required=False),
        requirements=read_requirements(section),
    )
    section.done()
    return defaults


def _pattern(section: Section, key: str, *, required: bool = True) -> str:
    text = section.text(key, required=required)
    check_file_name(section, text, key)
    check_braces(section, key, text)
    return text


def filled(text: str, release: str, chip: str = "", machine: str = "") -> str:
    """``text``, which ``check_braces`` has accepted, for one file; else the text itself."""
    try:
        return text.format(release=release.removesuffix(_COMMUNITY), chip=chip, machine=machine)
    except _BRACES:
        return text


def check_braces(section: Section, key: str, text: str) -> None:
    """Report a ``text`` with anything but {release}, {chip} and {machine} in braces."""
    try:
        text.format(release="", chip="", machine="")
    except _BRACES:
        section.wrong(key, f"{text!r} may have {{release}}, {{chip}} and {{machine}} only.")


def check_chip(section: Section, key: str, chip: str) -> None:
    """Report a ``chip`` that no chip is called."""
    if chip and not CHIP.fullmatch(chip):
        section.wrong(key, f"{chip!r} is not a chip.", "Write it as in 910b.")
