# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from .hosts import Host

NOT_SUPPORTED, WRONG_ARGUMENT = 200001, 161002


def test_a_graph_is_carried_out_at_each_replay(host: Host) -> None:
    assert host.ask("capture_and_replay") == {
        "seen": [[7, 7], [0, 4], [0, 8]],
        "synchronized": NOT_SUPPORTED,
        "after": WRONG_ARGUMENT,
    }


def test_a_task_group_can_be_replaced(host: Host) -> None:
    assert host.ask("replay_an_updated_task_group") == [1, -2]


def test_a_stream_joins_a_capture_by_an_event(host: Host) -> None:
    assert host.ask("another_stream_joins_a_capture") == [7, -1, 1]
