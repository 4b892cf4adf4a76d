# SPDX-License-Identifier: Apache-2.0
"""Curves are drawn whatever their values are, and names do not become markup."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest

from cannery.training.curves import Curve, to_svg, to_text

SVG = "{http://www.w3.org/2000/svg}"
FALLING = Curve(name="reference", points=[(step, 1 / step) for step in range(1, 11)])


def drawn(*curves: Curve, mark: int | None = None) -> ET.Element:
    return ET.fromstring(to_svg("a title", curves, mark))


def test_a_picture_of_two_curves() -> None:
    rising = Curve(name="<run> & more", points=[(step, step / 10) for step in range(1, 11)])
    root = drawn(FALLING, rising, mark=3)
    lines = [each.attrib["points"].split() for each in root.iter(f"{SVG}polyline")]
    assert [len(line) for line in lines] == [10, 10]
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert heights == sorted(heights)
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert {"a title", "<run> & more", "step 3"} <= {*texts}


def test_values_that_are_not_finite_leave_a_gap() -> None:
    points = [(1, 1.0), (2, 0.5), (3, math.nan), (4, math.inf), (5, 0.5)]
    root = drawn(Curve(name="run", points=points))
    lines = [each.attrib["points"].split() for each in root.iter(f"{SVG}polyline")]
    assert [len(line) for line in lines] == [2, 1]
    assert len([*root.iter(f"{SVG}circle")]) == 1
    assert "nan" not in ET.tostring(root, "unicode")


def test_a_long_curve_is_thinned() -> None:
    root = drawn(Curve(name="run", points=[(step, 1.0) for step in range(100_000)]))
    [line] = root.iter(f"{SVG}polyline")
    assert 1000 < len(line.attrib["points"].split()) <= 2000


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
    text = ET.tostring(drawn(curve, FALLING), "unicode")
    assert "nan" not in text
    assert "inf" not in text
    assert all(len(line) <= 76 for line in to_text([curve, FALLING]))


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
