# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments end in an error code, never in a crash."""

from __future__ import annotations

import pytest

from .bad_calls import BAD_CALLS, SMALLEST
from .hosts import Host


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call_is_an_error(host: Host, name: str) -> None:
    assert host.ask("bad_call", name) != 0


def test_the_smallest_number_can_be_divided_by_minus_one(host: Host) -> None:
    assert host.ask("quotients_of_the_smallest_number") == [SMALLEST, 0, 0]


def test_a_graph_keeps_the_counts_of_its_collectives(host: Host) -> None:
    assert host.ask("counts_that_change_after_a_capture") == 0


def test_a_list_keeps_its_items(host: Host) -> None:
    assert host.ask("list_after_its_item_is_destroyed") == [True, 0]
