# SPDX-License-Identifier: Apache-2.0
"""The rank test, against the choice of every subset and against published values."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ranks import holm, p_value

FEW = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=5)


def by_every_choice(one: list[float], other: list[float]) -> float:
    """The p value from the definition: the share of choices that are as far from the mean."""
    values = [*one, *other]
    ranks = [
        sum(each < value for each in values) + (sum(each == value for each in values) + 1) / 2
        for value in values
    ]
    mean = len(one) * sum(ranks) / len(ranks)
    found = abs(sum(ranks[: len(one)]) - mean)
    sums = [sum(each) for each in combinations(ranks, len(one))]
    return sum(abs(each - mean) >= found - 1e-9 for each in sums) / len(sums)


@given(FEW, FEW)
def test_it_is_exact_with_ties_too(one: list[float], other: list[float]) -> None:
    assert p_value(one, other) == pytest.approx(by_every_choice(one, other))
    assert p_value(one, other) == p_value(other, one)


@pytest.mark.parametrize(
    ("size", "statistic", "significant"),
    # The critical values of U for a two-sided test at 0.05, as in the tables of textbooks.
    [(4, 0, True), (4, 1, False), (5, 2, True), (5, 3, False), (8, 13, True), (8, 14, False)],
)
def test_the_critical_values_are_those_of_the_tables(
    size: int, statistic: int, significant: bool
) -> None:
    # Of each value of the second, so many of the first are above it.
    above = [min(size, max(0, statistic - size * n)) for n in range(size)]
    one = [float(n) for n in range(size)]
    other = [size - count - 0.5 + n / 100 for n, count in enumerate(above)]
    assert sum(a > b for a in one for b in other) == statistic
    assert (p_value(one, other) < 0.05) is significant


def test_many_samples_are_compared_in_no_time() -> None:
    one = [float(n) for n in range(60)]
    assert p_value(one, [n + 0.5 for n in one]) > 0.5
    assert p_value(one, [n + 30.0 for n in one]) < 1e-6


def test_several_tests_are_corrected_together() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == {
        "a": pytest.approx(0.03),
        "c": pytest.approx(0.06),
        "b": pytest.approx(0.06),
    }
    assert holm({"a": 0.8, "b": 0.9}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}
