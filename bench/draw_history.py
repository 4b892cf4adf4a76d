# SPDX-License-Identifier: Apache-2.0
"""The figures of all runs as a chart, by commit. Pure: equal records give equal texts."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise
from typing import Any

from bench.history import Record
from bench.limits import LIMITS, PASS_MS, Limit
from bench.svg import document, label

_WIDTH, _LEFT, _RIGHT = 880, 40, 30
_HEAD, _ROW, _PLOT = 30, 84, 44
_COMMITS = 40
"""So many commits are shown, the newest."""

_COLOURS = ("#2f7d4f", "#2b5fb3", "#b3432b", "#8a5fb3", "#a07a1f")
"""One for each machine, again from the beginning if there are more."""


Place = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Point:
    """A figure of one run: ``column`` is that of its commit."""

    column: int
    machine: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The columns of the commits, and the colours of the machines."""

    commits: Sequence[str]
    colours: Mapping[str, str]

    def x(self, column: int) -> int:
        width = _WIDTH - _LEFT - _RIGHT
        return _LEFT + round(width * column / max(len(self.commits) - 1, 1))


def chart(records: Sequence[Record]) -> str:
    """A row for each figure that has a limit or a ratio; points of one machine are joined."""
    commits = [*dict.fromkeys(record.commit for record in records)][-_COMMITS:]
    shown = [record for record in records if record.commit in commits]
    machines = dict.fromkeys(record.machine for record in shown)
    scale = Scale(commits=commits, colours=dict(zip(machines, cycle(_COLOURS), strict=False)))
    parts = _machines(scale)
    top = _HEAD
    for key in LIMITS:
        entries = [record.figures[key] for record in shown if key in record.figures]
        if points := _points(key, shown, commits):
            title = f"{_title(key, entries[-1])}: {points[-1].value:.3g}"
            parts += [label(_LEFT - 10, top + 14, title), *_row(top, LIMITS[key], points, scale)]
            top += _ROW
    return document(_WIDTH, top + 60, [*parts, *_names(scale, top + 4)])


def _machines(scale: Scale) -> list[str]:
    parts = []
    for number, (name, colour) in enumerate(scale.colours.items()):
        at = _LEFT + 200 * number
        parts.append(f'<circle cx="{at}" cy="14" r="4" fill="{colour}"/>')
        parts.append(label(at + 8, 18, name))
    return parts


def _names(scale: Scale, top: int) -> list[str]:
    """The commits below their columns."""
    return [
        f'<g transform="translate({scale.x(number)} {top}) rotate(60)" font-size="10">'
        f"{label(0, 0, commit)}</g>"
        for number, commit in enumerate(scale.commits)
    ]


def _points(key: str, records: Sequence[Record], commits: Sequence[str]) -> list[Point]:
    found = []
    for record in records:
        value = _value(LIMITS[key], record.figures[key]) if key in record.figures else None
        if value is not None:
            column = commits.index(record.commit)
            found.append(Point(column=column, machine=record.machine, value=value))
    return found


def _value(limit: Limit, entry: Mapping[str, Any]) -> float | None:
    """What the limit is on. Without one that is the ratio."""
    reference = entry["reference"]
    below = statistics.median(reference["samples"]) if reference else None
    return limit.measured(statistics.median(entry["ours"]["samples"]), below)


def _title(key: str, entry: Mapping[str, Any]) -> str:
    unit = str(entry["unit"])
    what = {"ratio": "ratio", "value": unit, "scaled": f"ms at {PASS_MS} ms a start of Python"}
    return f"{entry['title']} ({what[LIMITS[key].on]})"


def _row(top: int, limit: Limit, points: Sequence[Point], scale: Scale) -> list[str]:
    highest = max([*(point.value for point in points), limit.at_most or 0]) or 1
    bottom, end = top + _ROW - 16, _WIDTH - _RIGHT

    def y(value: float) -> int:
        return bottom - round(_PLOT * value / highest)

    parts = [_line((_LEFT, bottom), (end, bottom))]
    if limit.at_most is not None:
        parts.append(_line((_LEFT, y(limit.at_most)), (end, y(limit.at_most)), dashes="3 3"))
    for machine, colour in scale.colours.items():
        own = [point for point in points if point.machine == machine]
        places = [(scale.x(point.column), y(point.value)) for point in own]
        parts += [_line(one, other, colour) for one, other in pairwise(places)]
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
    return parts


def _line(start: Place, end: Place, colour: str = "#999999", dashes: str = "") -> str:
    ends = f'x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}"'
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line {ends} stroke="{colour}"{dashed}/>'
