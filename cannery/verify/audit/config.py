# SPDX-License-Identifier: Apache-2.0
"""The config of an image, and whether it is cannery's own, made from one, or somebody else's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cannery.common.outside import whole_number
from cannery.common.printable import one_line

LABELS = "io.cannery."
"""The beginning of the names of cannery's own labels."""

_TITLE = re.compile(r'(?:/bin/sh -c #\(nop\) +)?LABEL org\.opencontainers\.image\.title="?([^ "]+)')
_COMMAND = re.compile(r'(?:/bin/sh -c #\(nop\) +)?CMD \["/bin/bash"\]')


class Origin(StrEnum):
    """Where an image comes from. A check that fits one origin need not fit another."""

    OURS = "ours"
    DERIVED = "derived"
    """Made ``FROM`` one of cannery's."""
    FOREIGN = "foreign"


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """The parts of an image's config that checks read.

    ``history`` has the commands that made it, the newest first; it may be empty. ``ports`` are
    the numbers that it exposes.
    """

    reference: str
    id: str = ""
    architecture: str = "arm64"
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    size: int = 0
    history: tuple[str, ...] = ()

    @property
    def platform(self) -> str:
        """As in ``linux/arm64``."""
        return f"linux/{self.architecture}"

    def label(self, name: str) -> str:
        """The value of cannery's label ``name``; empty if there is none."""
        return self.labels.get(LABELS + name, "")

    @property
    def later_steps(self) -> tuple[str, ...] | None:
        """The commands that somebody added to an image of cannery's, the oldest first.

        None if the history does not show where cannery's part ends.
        """
        target = self.label("target")
        found: list[str] = []
        for line in self.history:
            title = _TITLE.match(line)
            if title and title[1] in (target, f"{target}-sim"):
                return tuple(reversed(found))
            if not _COMMAND.fullmatch(line):
                found.append(line)
        return None

    @property
    def origin(self) -> Origin:
        """Whose image it is, by its labels and its history."""
        if not self.label("target"):
            return Origin.FOREIGN
        return Origin.OURS if self.later_steps == () else Origin.DERIVED


def config_of(reference: str, inspected: Mapping[str, Any], history: Sequence[str]) -> ImageConfig:
    """The config in what ``docker image inspect`` prints for one image."""
    own = inspected.get("Config") or {}
    ports = (whole_number(port.partition("/")[0]) for port in own.get("ExposedPorts") or {})
    return ImageConfig(
        reference=reference,
        id=str(inspected.get("Id", "")),
        architecture=str(inspected.get("Architecture", "")),
        environment=dict(one_line(each).partition("=")[::2] for each in own.get("Env") or ()),
        user=one_line(str(own.get("User") or "")),
        entrypoint=tuple(map(one_line, own.get("Entrypoint") or ())),
        command=tuple(map(one_line, own.get("Cmd") or ())),
        labels={one_line(k): one_line(v) for k, v in (own.get("Labels") or {}).items()},
        ports=tuple(sorted(filter(None, ports))),
        size=int(inspected.get("Size") or 0),
        history=tuple(map(one_line, history)),
    )
