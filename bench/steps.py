# SPDX-License-Identifier: Apache-2.0
"""Reads the steps of a build from its log: their names, durations, and whether they were cached.

There are two formats: that of ``docker buildx``, and that of build.py's logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NAME = re.compile(r"^#(\d+) (\[.+|exporting to .+|importing .+)$")
_DONE = re.compile(r"^#(\d+) DONE ([\d.]+)s")
_ENDED = re.compile(r"^([^|]+): (done|cached) \(([\d.]+) s\)$")
_CACHED = re.compile(r"^#(\d+) CACHED")
_INSTRUCTION = re.compile(r"^\[(?P<stage>.+?)\] (?P<text>.*)$")
_NO_STEPS = ("[internal]", "[context ", "context ")
_OPTION = re.compile(r"--\S+\s+")
_PRELUDE = re.compile(r"if \[.*?\bfi;\s*")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step. The seconds are BuildKit's; steps of several stages overlap."""

    name: str
    seconds: float
    cached: bool

    @property
    def loads_base(self) -> bool:
        """Whether the step only loads a base image or a context, which no cache affects."""
        name = self.name
        return "] FROM " in name or name.endswith(" FROM") or name.startswith(_NO_STEPS)


def parse(lines: Iterable[str]) -> list[Step]:
    """The steps of a log, each once, in the order in which the log first names them."""
    names: dict[str, str] = {}
    seconds: dict[str, float] = {}
    cached: set[str] = set()
    for line in lines:
        if found := _NAME.match(line):
            names.setdefault(found[1], found[2].strip())
        elif found := _DONE.match(line):
            seconds[found[1]] = float(found[2])
        elif found := _CACHED.match(line):
            cached.add(found[1])
        elif found := _ENDED.match(line):
            names[found[1]] = found[1]
            seconds[found[1]] = float(found[3])
            cached |= {found[1]} if found[2] == "cached" else set()
    return [
        Step(name=name, seconds=seconds.get(number, 0.0), cached=number in cached)
        for number, name in names.items()
        if number in seconds or number in cached
    ]


def reused(steps: Iterable[Step]) -> list[str]:
    """The names of the steps that came from a cache, bases aside."""
    return [step.name for step in steps if step.cached and not step.loads_base]


def longest(steps: Iterable[Step], count: int = 8) -> dict[str, float]:
    """The steps that took longest, by a short name."""
    found = sorted(steps, key=lambda step: -step.seconds)[:count]
    return {_short(step.name): step.seconds for step in found if step.seconds >= 0.1}


def _short(name: str) -> str:
    found = _INSTRUCTION.match(name)
    if not found:
        return name[:60]
    # Options and the settings of the package index are the same in all steps.
    text = " ".join(_PRELUDE.sub("", _OPTION.sub("", found["text"])).split())
    return f"[{found['stage']}] {text[:48]}".strip()
