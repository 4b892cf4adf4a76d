# SPDX-License-Identifier: Apache-2.0
"""Five kills of a rank at a random moment; 'nox -s kills' makes 100."""

from __future__ import annotations

import random

from .hosts import Host
from .kills import kill_one, table


def test_a_rank_killed_at_a_random_moment_ends_the_others(host: Host) -> None:
    first = random.randrange(1_000_000)  # any will do: a failure names its seed
    kills = [kill_one(host, seed) for seed in range(first, first + 5)]
    assert [each for each in kills if not each.good] == []
    assert "working" in table(kills) or "joining" in table(kills)
