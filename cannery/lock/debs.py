# SPDX-License-Identifier: Apache-2.0
"""The packages that apt resolved for a target's layers: packages.lock, and what differs from it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote

from cannery.common.errors import MatrixError, Problem, Span

FILE = "packages.lock"
"""The name of the file below images/ID/."""

DEBS = "/usr/local/share/cannery/debs"
"""The folder in an image with a list of Debian packages for each layer that has some.

A list is the output of ``sha256sum`` for the files that apt downloaded.
"""

_HEAD = """\
# Written by 'python build.py update --packages --write'. Do not edit.
# What apt resolved for each layer, on {base}.
"""
_LAYER = re.compile(r"\[([a-z0-9_-]+)\]")
_LINE = re.compile(r"(?P<name>\S+)=(?P<version>\S+) (?P<architecture>\S+) sha256:(?P<sha256>\S+)")


@dataclass(frozen=True, kw_only=True, order=True)
class Deb:
    """The file of a Debian package."""

    name: str
    version: str
    architecture: str
    sha256: str

    @property
    def file(self) -> str:
        """The file name in an archive, which has no epoch."""
        return f"{self.name}_{self.version.rpartition(':')[2]}_{self.architecture}.deb"

    @property
    def line(self) -> str:
        """The package in packages.lock."""
        return f"{self.name}={self.version} {self.architecture} sha256:{self.sha256}"


def debs_of(text: str) -> Iterator[Deb]:
    """The files in a list of ``DEBS``; see there. Other lines are left out."""
    for line in text.splitlines():
        sha256, _, file = line.partition("  ")
        parts = file.removesuffix(".deb").split("_")
        if len(parts) == 3:
            name, version, architecture = map(unquote, parts)
            yield Deb(name=name, version=version, architecture=architecture, sha256=sha256)


@dataclass(frozen=True, kw_only=True)
class DebLock:
    """A parsed packages.lock: layer to its packages. ``text`` is the file."""

    text: str
    layers: Mapping[str, tuple[Deb, ...]]

    @property
    def debs(self) -> dict[str, Deb]:
        """The packages of all layers by their names."""
        return {deb.name: deb for debs in self.layers.values() for deb in debs}

    def digest(self, layer: str) -> str:
        """A hash of what is recorded for ``layer``; empty if that is nothing."""
        if layer not in self.layers:
            return ""
        text = "".join(f"{deb.line}\n" for deb in self.layers[layer])
        return hashlib.sha256(text.encode()).hexdigest()


@cache
def parse_debs(text: str, name: str = FILE) -> DebLock:
    """Read a packages.lock, whose name is ``name``."""
    layers: dict[str, list[Deb]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line:
            continue
        if heading := _LAYER.fullmatch(line):
            layers[heading[1]] = []
        elif layers and (match := _LINE.fullmatch(line)):
            [*layers.values()][-1].append(Deb(**match.groupdict()))
        else:
            what = f"invalid line in a record of packages: {line!r}."
            fix = "Restore it, or delete it and run 'python build.py update --packages --write'."
            where = Span(file=name, line=number, column=1)
            raise MatrixError(Problem(what=what, where=where, fix=fix))
    return DebLock(text=text, layers={name: tuple(debs) for name, debs in layers.items()})


def debs_text(base: str, layers: Mapping[str, Iterable[Deb]]) -> str:
    """The text of a packages.lock; ``base`` says on which base the packages were resolved."""
    parts = [_HEAD.format(base=base)]
    for layer, debs in layers.items():
        parts += [f"[{layer}]\n", *(f"{deb.line}\n" for deb in sorted(debs))]
    return "".join(parts)


def changed_debs(old: Mapping[str, Deb], new: Mapping[str, Deb]) -> list[str]:
    """A line for each package by name of which ``new`` has another file than ``old``, or none."""
    lines = []
    for name in sorted(old.keys() | new.keys()):
        sides = old.get(name), new.get(name)
        if sides[0] != sides[1]:
            versions = [deb.version if deb else "(none)" for deb in sides]
            if versions[0] == versions[1]:
                versions = [f"{deb.version} (sha256 {deb.sha256[:12]})" for deb in sides if deb]
            lines.append(f"{name} {versions[0]} -> {versions[1]}")
    return lines
