# SPDX-License-Identifier: Apache-2.0
"""Reads the CANN releases of matrix.yaml, and what those of one layout have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from cannery.common.bases import File
from cannery.common.cann_version import CannVersion
from cannery.common.errors import did_you_mean
from cannery.common.model import MACHINE_OF, CannPackages, CannRelease, Layout
from cannery.common.yaml_reader import Section
from cannery.matrix.file_definitions import (
    Downloads,
    FileFacts,
    check_file_name,
    check_folder,
    check_sha256,
    made_file,
    read_facts_of_file,
    read_folder,
    read_images,
    zip_name,
)
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


def _missing(section: Section, key: str) -> None:
    """Report a ``key`` that neither ``section`` nor the release's layout has."""
    # A misspelt key is one mistake, and is reported as one; so is something else than a mapping.
    misspelt = any(did_you_mean(each, [key]).startswith("Did") for each in section.names())
    if isinstance(section.node, yaml.MappingNode) and not misspelt:
        what = f"{section.name} has no {key!r}, and cann_layouts has none for its layout."
        section.problems.add(section.node, what, "Add it to one of them.")


@dataclass(frozen=True, kw_only=True)
class _Common:
    """What the files of one release have in common; ``hashes`` maps a file's name to its sha256."""

    version: str
    downloads: Downloads
    origin: str
    folder: str
    hashes: Mapping[str, str]

    def files(self, section: Section | None, pattern: str, chip: str = "") -> dict[str, File]:
        """Machine to the file that ``section`` declares, or that ``pattern`` names."""
        return {
            machine: self._file(section, pattern, chip, machine) for machine in MACHINE_OF.values()
        }

    def _file(self, section: Section | None, pattern: str, chip: str, machine: str) -> File:
        if section is None:
            name = filled(pattern, self.version, chip, machine)
            return self._made(name, self.origin, self.folder, FileFacts())
        text = section.text("file", required=False, default=pattern)
        if not pattern and "file" not in section:
            _missing(section, "file")
        check_file_name(section, text)
        check_braces(section, "file", text)
        name = filled(text, self.version, chip, machine)
        origin = section.text("origin", required=False, default=self.origin)
        if not self.origin and "origin" not in section:
            _missing(section, "origin")
        folder = read_folder(section, self.downloads, self.folder)
        facts = read_facts_of_file(section)
        if "{machine}" in text and (facts.sha256 or facts.zip):
            fix = "Write the sha256 of each file under 'sha256' of the release."
            what = "one sha256 cannot be that of the files for two machines."
            section.wrong("sha256" if facts.sha256 else "zip", what, fix)
        section.done()
        return self._made(name, origin, folder, facts)

    def _made(self, name: str, origin: str, folder: str, facts: FileFacts) -> File:
        archive = facts.zip
        if archive is None and (sha256 := self.hashes.get(zip_name(name))):
            archive = FileFacts(sha256=sha256)
        sha256 = facts.sha256 or self.hashes.get(name, "")
        facts = FileFacts(sha256=sha256, size=facts.size, zip=archive)
        return made_file(name, origin, folder, self.downloads, facts)


def read_release(
    version: str, section: Section, downloads: Downloads, layouts: Mapping[Layout, CannDefaults]
) -> CannRelease:
    """The release ``version`` of CANN; mistakes become problems."""
    try:
        CannVersion.parse(version)
    except ValueError as error:
        section.problems.add(section.node, str(error))
    editions, installers = {"release": False, "interim": True}, {"native": False, "emulated": True}
    interim = section.choose("edition", editions, "edition", default="release") or False
    nearest = section.text("nearest_public", required=interim)
    known = {str(layout): layout for layout in Layout}
    layout = section.choose("layout", known, "layout")
    defaults = layouts.get(layout, CannDefaults()) if layout else CannDefaults()
    emulated = section.choose("installer", installers, "installer", default="native") or False
    packages = _packages(version, section, downloads, defaults)
    chips = packages["aarch64"].kernels
    release = CannRelease(
        version=version,
        layout=layout or Layout.ASCEND_TOOLKIT,
        emulated=emulated,
        interim=interim,
        nearest_public=nearest,
        packages=packages,
        images=read_images(section, chips),
        requirements=read_requirements(section) or defaults.requirements,
    )
    section.done()
    return release


def _packages(
    version: str, section: Section, downloads: Downloads, defaults: CannDefaults
) -> dict[str, CannPackages]:
    """Machine to the packages of the release ``version``."""
    hashes = _hashes(section)
    common = _Common(
        version=version,
        downloads=downloads,
        origin=section.text("origin", required=False, default=defaults.origin),
        folder=read_folder(section, downloads, filled(defaults.download, version)),
        hashes=hashes,
    )
    own = section.section("toolkit", required=False)
    if own is None and not defaults.toolkit:
        _missing(section, "toolkit")
    toolkit = common.files(own, defaults.toolkit)
    kernels = _kernels(section, common, defaults)
    nnal = _nnal(section, common, defaults)
    packages = {
        machine: CannPackages(
            toolkit=file,
            kernels={chip: files[machine] for chip, files in kernels.items()},
            nnal=nnal[machine] if nnal else None,
        )
        for machine, file in toolkit.items()
    }
    _check_hashes(version, section, hashes, packages)
    return packages


def _kernels(
    section: Section, common: _Common, defaults: CannDefaults
) -> dict[str, dict[str, File]]:
    """Chip to its kernels, by machine: those under ``chips`` and those under ``kernels``."""

    def wrong(chip: str) -> str:
        return "" if CHIP.fullmatch(chip) else f"{chip!r} is not a chip. Write it as in 910b."

    chips = section.texts("chips", wrong)
    inner = section.section("kernels", required=False)
    if inner is None and "chips" not in section:
        _missing(section, "kernels")
    own = dict(inner.sections()) if inner else {}
    found = {}
    for chip, each in own.items():
        check_chip(each, chip, chip)
    for chip in dict.fromkeys((*chips, *own)):
        pattern = defaults.kernels.get(chip, defaults.kernels.get(DEFAULT, ""))
        if chip not in own and not pattern:
            what = f"no file is declared for the kernels of chip {chip!r}."
            section.wrong("chips", what, "Declare it under 'kernels', or name it in cann_layouts.")
            continue
        found[chip] = common.files(own.get(chip), pattern, chip)
    return found


def _nnal(section: Section, common: _Common, defaults: CannDefaults) -> dict[str, File]:
    """NNAL by machine; empty where the release has none."""
    without = section.texts(
        "without", lambda name: "" if name == "nnal" else f"{name!r} cannot be left out; nnal can."
    )
    inner = section.section("nnal", required=False)
    if inner is None and ("nnal" in without or not defaults.nnal):
        return {}
    if "nnal" in without:
        section.wrong("without", "the release declares nnal.", "Remove one of them.")
    return common.files(inner, defaults.nnal)


def _hashes(section: Section) -> dict[str, str]:
    """Name of a file, or of the zip with it, to its sha256."""
    inner = section.section("sha256", required=False)
    if inner is None:
        return {}
    found = inner.all_texts()
    for name, text in found.items():
        check_sha256(inner, name, text)
    return found


def _check_hashes(
    version: str,
    section: Section,
    hashes: Mapping[str, str],
    packages: Mapping[str, CannPackages],
) -> None:
    """Report each hash of a file that the release does not have."""
    names = [file.name for each in packages.values() for file in each.files]
    known = {*names, *map(zip_name, names)}
    inner = section.section("sha256", required=False) if hashes else None
    for name in hashes:
        if name not in known:
            assert inner
            inner.wrong(name, f"CANN {version} has no file {name!r}.", did_you_mean(name, known))
