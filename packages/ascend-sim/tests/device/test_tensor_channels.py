# SPDX-License-Identifier: Apache-2.0
"""Channels of tensors between host and device."""

from __future__ import annotations

from .hosts import Host

QUEUE_EMPTY = 207013
QUEUE_FULL = 207014
WRONG_HANDLE = 161002


def test_tensors_are_received_in_sending_order(host: Host) -> None:
    assert host.ask("channel_keeps_order") == [[1.0, 2.0], [3.0, 4.0]]


def test_waiting_ends_after_the_timeout(host: Host) -> None:
    assert host.ask("channel_times_out") == {"receive": QUEUE_EMPTY, "send": QUEUE_FULL, "size": 1}


def test_a_stopped_channel_wakes_waiting_receivers(host: Host) -> None:
    assert host.ask("channel_is_stopped") == QUEUE_EMPTY


def test_bad_arguments_are_errors(host: Host) -> None:
    refused = host.ask("channel_bad_arguments")
    assert refused == {"made": [None] * 4, "codes": [WRONG_HANDLE] * 3}
