# SPDX-License-Identifier: Apache-2.0
"""How Huawei names the packages of a CANN release, and which of them are known to exist."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from packaging.version import Version
from pydantic import model_validator

from cannery.common.cann_version import CannVersion
from cannery.common.errors import did_you_mean
from cannery.common.model import CannRelease
from cannery.common.models import Model, Sha256, raise_mistakes, read_yaml
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


class Archive(Model):
    """One interpreter, with the sha256 of its archive for each machine that has one."""

    version: str
    release: str
    source: str
    aarch64: Sha256 = ""
    x86_64: Sha256 = ""

    @property
    def sha256(self) -> dict[str, str]:
        """Machine to sha256."""
        both = {"aarch64": self.aarch64, "x86_64": self.x86_64}
        return {machine: sha256 for machine, sha256 in both.items() if sha256}

    @property
    def minor(self) -> str:
        """As in ``3.9``."""
        return self.version.rpartition(".")[0]

    def file(self, machine: str) -> str:
        """The archive's file name."""
        stem = f"cpython-{self.version}+{self.release}-{machine}"
        return f"{stem}-unknown-linux-gnu-install_only.tar.gz"


class _Source(Model):
    name: str
    date: str


class _Archives(Model):
    sources: dict[str, _Source]
    archives: tuple[Archive, ...]

    @model_validator(mode="after")
    def _sources_exist(self) -> Self:
        raise_mistakes(
            (("archives", number, "source"), f"there is no source {each.source!r}.", hint)
            for number, each in enumerate(self.archives)
            if each.source not in self.sources
            for hint in [did_you_mean(each.source, self.sources)]
        )
        return self


def load_archives(path: Path = ARCHIVES) -> list[Archive]:
    """Every archive, newest first; ``source`` has the name and the date of the source."""
    read = read_yaml(_Archives, path)
    cited = {key: f"{each.name}, {each.date}" for key, each in read.sources.items()}
    archives = [each.model_copy(update={"source": cited[each.source]}) for each in read.archives]
    return sorted(archives, key=lambda archive: Version(archive.version), reverse=True)
