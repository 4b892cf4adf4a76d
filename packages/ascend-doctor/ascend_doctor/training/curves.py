# SPDX-License-Identifier: Apache-2.0
"""Draws curves that share their axes, with characters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

_MARKS = ("o", "x")
_BOTH = "*"


@dataclass(frozen=True)
class Curve:
    """Values by step; those that are not finite leave a gap."""

    name: str
    points: Sequence[tuple[int, float]]

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


def to_text(curves: Sequence[Curve], *, width: int = 64, height: int = 12) -> list[str]:
    """Up to two ``curves`` in ``height`` lines of characters, and a line that explains them."""
    frame = _frame(curves)
    cells = [[" "] * width for _ in range(height)]
    for curve, mark in zip(curves, _MARKS):
        for step, value in curve.finite:
            line = cells[height - 1 - round(frame.up(value) * (height - 1))]
            column = round(frame.across(step) * (width - 1))
            line[column] = mark if line[column] in (" ", mark) else _BOTH
    names = [f"{mark} {curve.name}" for curve, mark in zip(curves, _MARKS)]
    scale = [f"{frame.high:.4g}", *[""] * (height - 2), f"{frame.low:.4g}"]
    lines = [f"{value:>9} |{''.join(cell)}".rstrip() for value, cell in zip(scale, cells)]
    last = str(frame.last)
    ruler = f"{frame.first}{last:>{width - len(str(frame.first))}}"
    return [*lines, f"{'step':>9}  {ruler}", f"{'':>11}{', '.join([*names, f'{_BOTH} both'])}"]
