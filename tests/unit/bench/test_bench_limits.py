# SPDX-License-Identifier: Apache-2.0
"""The table of limits knows every figure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.limits import LIMITS

BENCH = Path(__file__).parents[3] / "bench"
KEYS = {
    key
    for path in BENCH.glob("figures_*.py")
    for key in re.findall(r'\bkey="([a-z-]+)"', path.read_text(encoding="utf-8"))
}


def test_every_figure_that_is_measured_is_in_the_table() -> None:
    assert {"cold", "set", "set-bytes", "pulled", "tests", "unit"} <= KEYS
    assert LIMITS.keys() >= KEYS


@pytest.mark.parametrize(
    ("key", "at_most", "unit", "on"),
    [
        ("list", 600, "ms", "scaled"),
        ("explain", 600, "ms", "scaled"),
        ("check-matrix", 600, "ms", "scaled"),
        ("plan", 600, "ms", "scaled"),
        ("plan-all", 600, "ms", "scaled"),
        ("check", 2, "", "ratio"),
        ("first-command", 240, "s", "value"),
        ("second-command", 15, "s", "value"),
        ("cold", 0.10, "", "ratio"),
        ("tests", 30, "s", "value"),
        ("set", 0.20, "", "ratio"),
        ("set-bytes", 0.45, "", "ratio"),
        ("pulled", 0.01, "", "ratio"),
        ("ci-first", 25, "min", "value"),
        ("ci-again", 15, "min", "value"),
    ],
)
def test_the_limits_are_those_that_were_set(key: str, at_most: float, unit: str, on: str) -> None:
    limit = LIMITS[key]
    assert (limit.at_most, limit.unit, limit.on) == (at_most, unit, on)


def test_a_limit_that_is_no_ratio_has_a_unit() -> None:
    for key, limit in LIMITS.items():
        assert (limit.on == "ratio") == (limit.unit == ""), key
