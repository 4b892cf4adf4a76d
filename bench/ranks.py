# SPDX-License-Identifier: Apache-2.0
"""The Mann-Whitney U test, exact also with ties, and Holm's correction for several tests. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby


def p_value(one: Sequence[float], other: Sequence[float]) -> float:
    """How probable a difference at least as large is if both samples are of one distribution.

    Two-sided. The ranks of ``one`` are compared with those of every choice of as many of all
    values; values that are equal have the mean of their ranks.
    """
    ranks = _twice_ranks([*one, *other])
    sums = _rank_sums(ranks, len(one))

    def distance(total: int) -> int:
        """That of a sum of ranks from its mean, times a number that makes it whole."""
        return abs(total * len(ranks) - len(one) * sum(ranks))

    found = distance(sum(ranks[: len(one)]))
    extreme = sum(count for total, count in sums.items() if distance(total) >= found)
    return extreme / sum(sums.values())


def _twice_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, which is whole also where equal values share a rank."""
    found: dict[float, int] = {}
    below = 0
    for value, equal in groupby(sorted(values)):
        count = len([*equal])
        found[value] = 2 * below + count + 1
        below += count
    return [found[value] for value in values]


def _rank_sums(ranks: Sequence[int], size: int) -> dict[int, int]:
    """Each sum of ``size`` of ``ranks``, and in how many ways it comes about.

    ``chosen[k]`` is the sum of 2**(bits * s) over all choices of k ranks with the sum s. So adding
    a rank to all choices is one shift.
    """
    bits = len(ranks) + 1
    chosen = [1] + [0] * size
    for rank in ranks:
        for count in range(size, 0, -1):
            chosen[count] += chosen[count - 1] << (bits * rank)
    mask = (1 << bits) - 1
    counts = ((chosen[size] >> (bits * total)) & mask for total in range(sum(ranks) + 1))
    return {total: count for total, count in enumerate(counts) if count}


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """The p values of several tests, corrected so that the chance of any false alarm stays."""
    found: dict[str, float] = {}
    highest = 0.0
    for number, key in enumerate(sorted(values, key=lambda each: values[each])):
        highest = max(highest, min(1.0, values[key] * (len(values) - number)))
        found[key] = highest
    return found
