# SPDX-License-Identifier: Apache-2.0
"""How Huawei names the packages of a CANN release, and which of them are known to exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import did_you_mean
from cannery.common.model import CannRelease
from cannery.common.yaml_reader import Section, read_yaml
from cannery.compat.facts import Compat, FileName

_MACHINES = {"linux/arm64": "aarch64", "linux/amd64": "x86_64"}


def judged_as(release: CannRelease) -> CannVersion:
    """The public release that rows are looked up for; ValueError for an invalid version."""
    return CannVersion.parse(release.nearest_public if release.interim else release.version)


def file_row(compat: Compat, component: str, cann: CannVersion, chip: str) -> FileName | None:
    """The row with Huawei's name for the file of ``component``, if there is one."""
    rows = (row for row in compat.files if row.component == component and cann in row.cann)
    return next((row for row in rows if chip in (row.chips or (chip,))), None)


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


ARCHIVES = Path(__file__).with_name("pythons.yaml")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Archive:
    """One interpreter; ``sha256`` is by machine, aarch64 or x86_64."""

    version: str
    release: str
    source: str
    sha256: Mapping[str, str]

    @property
    def minor(self) -> str:
        """As in ``3.9``."""
        return self.version.rpartition(".")[0]

    def file(self, machine: str) -> str:
        """The archive's file name."""
        stem = f"cpython-{self.version}+{self.release}-{machine}"
        return f"{stem}-unknown-linux-gnu-install_only.tar.gz"


def load_archives(path: Path = ARCHIVES) -> list[Archive]:
    """Every archive, newest first."""
    archives = read_yaml(path, path.name, _archives)
    return sorted(archives, key=lambda archive: Version(archive.version), reverse=True)


def _archives(top: Section) -> list[Archive]:
    sources: dict[str, str] = {}
    if section := top.section("sources"):
        for name, source in section.sections():
            sources[name] = f"{source.text('name')}, {source.text('date')}"
            source.done()
    archives = []
    for row in top.mappings("archives", required=True, item="a row of archives"):
        hashes = {m: row.text(m, required=False) for m in ("aarch64", "x86_64")}
        for machine, text in hashes.items():
            if text and not _SHA256.fullmatch(text):
                row.wrong(machine, "a sha256 has 64 digits, 0 to 9 and a to f.")
        name = row.text("source")
        if name and name not in sources:
            row.wrong("source", f"there is no source {name!r}.", did_you_mean(name, sources))
        archive = Archive(
            version=row.text("version"),
            release=row.text("release"),
            source=sources.get(name, ""),
            sha256={machine: text for machine, text in hashes.items() if text},
        )
        row.done()
        archives.append(archive)
    return archives
