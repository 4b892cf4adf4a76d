# SPDX-License-Identifier: Apache-2.0
"""Draws curves that share their axes, as an SVG picture and with characters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from cannery.training.svg import dashed, document, label

Points = Sequence[tuple[int, float]]

_WIDTH, _HEIGHT = 880, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 60, 40
_COLOURS = ("#5b7083", "#b3432b")
_MOST = 2000
"""Points of a curve that are drawn; of a longer one, every n-th."""
_MARKS = ("o", "x")
_BOTH = "*"


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Values by step; those that are not finite leave a gap."""

    name: str
    points: Points

    @property
    def finite(self) -> list[tuple[int, float]]:
        return [point for point in self.points if math.isfinite(point[1])]


@dataclass(frozen=True)
class _Frame:
    """The ranges of both axes, which are not empty."""

    first: float
    last: float
    low: float
    high: float

    def across(self, step: float) -> float:
        """Where ``step`` is, from 0 at the left to 1 at the right."""
        return (step - self.first) / (self.last - self.first)

    def up(self, value: float) -> float:
        """Where ``value`` is, from 0 at the bottom to 1 at the top; outside of it, at an end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def _frame(curves: Sequence[Curve]) -> _Frame:
    steps = [step for curve in curves for step, _ in curve.points] or [0]
    values = [value for curve in curves for _, value in curve.finite] or [0.0]
    low, high = min(values), max(values)
    # The values themselves may be as large as a float can be.
    margin = (high / 20 - low / 20) or abs(high) / 20 or 1.0
    if not math.isfinite(high - low + 2 * margin):
        low, high, margin = -1.0, 1.0, 0.0
    first = min(steps)
    return _Frame(first, max(*steps, first + 1), low - margin, high + margin)


def to_svg(title: str, curves: Sequence[Curve], mark: int | None = None) -> str:
    """Up to two ``curves``; a dashed line is at the step ``mark``."""
    frame = _frame(curves)
    parts = [label(_LEFT, 18, title), *_axes(frame)]
    if mark is not None:
        parts.append(dashed(_x(frame, mark), _TOP, _HEIGHT - _BOTTOM))
        parts.append(label(_x(frame, mark), _TOP - 4, f"step {mark}", "middle"))
    for number, (curve, colour) in enumerate(zip(curves, _COLOURS, strict=False)):
        parts.append(label(_LEFT + 20 + 400 * number, 36, curve.name))
        parts.append(
            f'<rect x="{_LEFT + 400 * number}" y="27" width="14" height="10" fill="{colour}"/>'
        )
        parts += _lines(frame, curve, colour)
    return document(_WIDTH, _HEIGHT, parts)


def _axes(frame: _Frame) -> Iterator[str]:
    bottom = _HEIGHT - _BOTTOM
    yield (f'<path d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH - _RIGHT}" fill="none" stroke="#111111"/>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        value = frame.low + share * (frame.high - frame.low)
        yield label(_LEFT - 6, _y(frame, value) + 4, f"{value:.4g}", "end")
        step = round(frame.first + share * (frame.last - frame.first))
        yield label(_x(frame, step), bottom + 16, str(step), "middle")
    yield label((_LEFT + _WIDTH) / 2, _HEIGHT - 8, "step", "middle")


def _lines(frame: _Frame, curve: Curve, colour: str) -> Iterator[str]:
    every = math.ceil(len(curve.points) / _MOST) or 1
    runs = groupby(curve.points[::every], key=lambda point: math.isfinite(point[1]))
    for finite, points in runs:
        if finite:
            drawn = " ".join(f"{_x(frame, a):.1f},{_y(frame, b):.1f}" for a, b in points)
            if " " not in drawn:
                x, y = drawn.split(",")
                yield f'<circle cx="{x}" cy="{y}" r="2" fill="{colour}"/>'
            yield f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _x(frame: _Frame, step: float) -> float:
    return round(_LEFT + frame.across(step) * (_WIDTH - _LEFT - _RIGHT), 1)


def _y(frame: _Frame, value: float) -> float:
    return round(_HEIGHT - _BOTTOM - frame.up(value) * (_HEIGHT - _TOP - _BOTTOM), 1)


def to_text(curves: Sequence[Curve], *, width: int = 64, height: int = 12) -> list[str]:
    """Up to two ``curves`` in ``height`` lines of characters, and a line that explains them."""
    frame = _frame(curves)
    cells = [[" "] * width for _ in range(height)]
    for curve, mark in zip(curves, _MARKS, strict=False):
        for step, value in curve.finite:
            line = cells[height - 1 - round(frame.up(value) * (height - 1))]
            column = round(frame.across(step) * (width - 1))
            line[column] = mark if line[column] in (" ", mark) else _BOTH
    names = [f"{mark} {curve.name}" for curve, mark in zip(curves, _MARKS, strict=False)]
    scale = [f"{frame.high:.4g}", *[""] * (height - 2), f"{frame.low:.4g}"]
    lines = [
        f"{value:>9} |{''.join(cell)}".rstrip() for value, cell in zip(scale, cells, strict=True)
    ]
    last = str(frame.last)
    ruler = f"{frame.first}{last:>{width - len(str(frame.first))}}"
    return [*lines, f"{'step':>9}  {ruler}", f"{'':>11}{', '.join([*names, f'{_BOTH} both'])}"]
