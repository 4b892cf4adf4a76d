# SPDX-License-Identifier: Apache-2.0
"""``python -m bench --compare A B``: which figures a change made slower, by a rank test. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.history import Record
from bench.ranks import holm, p_value
from cannery.common.errors import UsageError

SLOWER = "slower"
ALPHA = 0.05
"""The chance that at least one figure is called different although none is."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure of both sides. ``ratio`` is the second median by the first; ``p`` is corrected."""

    title: str
    samples: tuple[int, int]
    ratio: float
    p: float

    @property
    def verdict(self) -> str:
        if self.p >= ALPHA:
            return "no difference that can be told"
        return SLOWER if self.ratio > 1 else "faster"


def compared(before: Record, after: Record) -> list[Row]:
    """The figures that both sides have.

    Raises:
        UsageError: there are none, or the sides are of different machines.
    """
    if before.machine != after.machine:
        machines = f"{before.machine} and {after.machine}"
        raise UsageError(f"the results are of different machines: {machines}.")
    keys = [key for key in after.figures if key in before.figures]
    if not keys:
        raise UsageError("the two results have no figure in common.")
    sides = {key: _values(before.figures[key], after.figures[key]) for key in keys}
    corrected = holm({key: p_value(*each) for key, each in sides.items()})
    return [
        Row(
            title=str(after.figures[key]["title"]),
            samples=(len(one), len(other)),
            ratio=statistics.median(other) / (statistics.median(one) or 1),
            p=corrected[key],
        )
        for key, (one, other) in sides.items()
    ]


def _values(*entries: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """What is compared: our samples, each by that of the reference in the same turn, if all have.

    So a machine that was busier during one of the runs does not count.
    """
    ours = [list(map(float, entry["ours"]["samples"])) for entry in entries]
    references = [(entry["reference"] or {}).get("samples", ()) for entry in entries]
    pairs = [*zip(ours, references, strict=True)]
    if all(len(one) == len(other) and all(other) for one, other in pairs):
        ours = [[a / b for a, b in zip(*pair, strict=True)] for pair in pairs]
    first, second = ours
    return first, second


def text(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = ["| figure | samples | ratio | p | |", "|--|--|--|--|--|"]
    lines += [
        f"| {row.title} | {row.samples[0]}, {row.samples[1]} | {row.ratio:.2f} | {row.p:.3f} |"
        f" {row.verdict} |"
        for row in rows
    ]
    note = (
        "Medians of the second by those of the first; p of the Mann-Whitney U test,"
        f" with Holm's correction for {len(rows)} figures. Slower or faster: p < {ALPHA}."
    )
    return "\n".join([*lines, "", note, ""])
