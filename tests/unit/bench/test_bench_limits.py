# SPDX-License-Identifier: Apache-2.0
"""The table of limits knows every figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.limits import LIMITS

BENCH = Path(__file__).parents[3] / "bench"
SOURCES = "".join(
    path.read_text(encoding="utf-8")
    for path in (*BENCH.glob("figures_*.py"), BENCH / "first_use.py")
)


def test_every_figure_of_the_table_is_measured() -> None:
    # The second one's key is made from the first one's.
    assert [key for key in LIMITS if f'"{key}"' not in SOURCES] == ["cold-processor"]


@pytest.mark.parametrize(
    ("key", "at_most", "unit", "on"),
    [
        ("check", 600, "ms", "scaled"),
        ("first-command", 180, "s", "value"),
        ("second-command", 15, "s", "value"),
        ("cold", 0.12, "", "ratio"),
        ("cold-processor", 105, "s", "value"),
        ("tests", 30, "s", "value"),
        ("device", 30, "s", "value"),
        ("set", 0.20, "", "ratio"),
        ("set-bytes", 0.45, "", "ratio"),
        ("ci-first", 20, "min", "value"),
        ("ci-again", 12, "min", "value"),
        ("tests-first", 12, "min", "value"),
        ("tests-again", 6, "min", "value"),
    ],
)
def test_the_limits_are_those_that_were_set(key: str, at_most: float, unit: str, on: str) -> None:
    limit = LIMITS[key]
    assert (limit.at_most, limit.unit, limit.on) == (at_most, unit, on)


def test_a_limit_that_is_no_ratio_has_a_unit() -> None:
    for key, limit in LIMITS.items():
        assert (limit.on == "ratio") == (limit.unit == ""), key
