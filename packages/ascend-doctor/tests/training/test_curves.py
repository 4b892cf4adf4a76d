# SPDX-License-Identifier: Apache-2.0
"""Curves are drawn whatever their values are."""

from __future__ import annotations

import math

import pytest

from ascend_doctor.training.curves import Curve, to_text

FALLING = Curve(name="reference", points=[(step, 1 / step) for step in range(1, 11)])


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(1, 0.0)],
        [(7, math.nan)],
        [(1, 5.0), (2, 5.0)],
        [(1, -1e308), (2, 1e308)],
        [(1, 1e308), (2, 1.1e308)],
        [(0, 5e-324), (10**9, 0.0)],
    ],
)
def test_any_values_can_be_drawn(points: list[tuple[int, float]]) -> None:
    curve = Curve(name="run", points=points)
    lines = to_text([curve, FALLING])
    assert "nan" not in "".join(lines)
    assert all(len(line) <= 76 for line in lines)


def test_curves_of_characters() -> None:
    run = Curve(name="run", points=[(1, 1.0), (10, 1.0)])
    lines = to_text([FALLING, run], width=20, height=5)
    assert lines == [
        "    1.045 |*                  x",
        "          |",
        "          |  o",
        "          |    o o o",
        "    0.055 |           o o o o o",
        "     step  1                 10",
        "           o reference, x run, * both",
    ]
