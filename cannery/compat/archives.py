# SPDX-License-Identifier: Apache-2.0
"""The python-build-standalone archives that have a published sha256."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cannery.common.errors import did_you_mean
from cannery.common.yaml_reader import Section, read_yaml

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
    return sorted(archives, key=lambda each: [int(part) for part in each.version.split(".")])[::-1]


def _archives(top: Section) -> list[Archive]:
    sources: dict[str, str] = {}
    if section := top.section("sources"):
        for name, each in section.sections():
            sources[name] = f"{each.text('name')}, {each.text('date')}"
            each.done()
    rows = top.mappings("archives", required=True, item="a row of archives")
    return [_archive(row, sources) for row in rows]


def _archive(section: Section, sources: Mapping[str, str]) -> Archive:
    hashes = {}
    for machine in ("aarch64", "x86_64"):
        if text := section.text(machine, required=False):
            hashes[machine] = text
            if not _SHA256.fullmatch(text):
                section.wrong(machine, "a sha256 has 64 digits, 0 to 9 and a to f.")
    name = section.text("source")
    if name and name not in sources:
        section.wrong("source", f"there is no source {name!r}.", did_you_mean(name, sources))
    archive = Archive(
        version=section.text("version"),
        release=section.text("release"),
        source=sources.get(name, ""),
        sha256=hashes,
    )
    section.done()
    return archive
