# SPDX-License-Identifier: Apache-2.0
"""Streams that wait for a number in device memory (aclrtValueWait), as external events do."""

from __future__ import annotations

from .hosts import Host

COMPLETE, NOT_READY = 0, 1
RECORDED, NOT_RECORDED = 1, 0
WRONG_PARAMETER, TIMEOUT = 100000, 507046


def test_a_stream_and_its_dependants_wait(host: Host) -> None:
    waiting = [NOT_READY, NOT_READY, NOT_RECORDED, 0]
    done = [COMPLETE, COMPLETE, RECORDED, 2]
    assert host.ask("wait_for_another_stream") == [waiting, waiting, done]


def test_comparisons(host: Host) -> None:
    at_least, equal, common_bit, free_bit = host.ask("comparisons")
    assert at_least == [True, True, False]
    assert equal == [True, False]
    assert common_bit == [True, False]
    assert free_bit == [True, False]


def test_another_thread_ends_the_wait(host: Host) -> None:
    assert host.ask("synchronize_while_waiting") == [[TIMEOUT, TIMEOUT, 0, 0, 0], 3]


def test_a_replay_waits_and_then_carries_out_the_updated_task(host: Host) -> None:
    assert host.ask("replay_that_waits") == [0, 8, 8, 9]


def test_a_late_failure_is_told_once(host: Host) -> None:
    assert host.ask("failure_after_a_wait") == [0, WRONG_PARAMETER, 0]


def test_wrong_values_are_refused(host: Host) -> None:
    assert host.ask("refused_values") == [WRONG_PARAMETER] * 8
