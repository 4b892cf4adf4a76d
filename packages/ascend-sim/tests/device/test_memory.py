# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from .hosts import Host

MEBIBYTE = 1 << 20


def test_copied_data_comes_back_unchanged(host: Host) -> None:
    assert host.ask("copy_round_trip", "héllo") == "héllo"


def test_a_copy_beyond_the_end_is_refused(host: Host) -> None:
    assert host.ask("copy_beyond_the_end") == 100000


def test_freeing_twice_is_an_error(host: Host) -> None:
    assert host.ask("free_twice") == [0, 100000]


def test_memory_is_counted(host: Host) -> None:
    free, total = host.ask("free_memory_after_allocating", str(MEBIBYTE))
    assert (free, total) == (65535 * MEBIBYTE, 65536 * MEBIBYTE)


def test_a_full_device_is_an_error(host: Host) -> None:
    host.describe("910b", count=1, memory_mb=1)
    failure = host.ask("free_memory_after_allocating", str(2 * MEBIBYTE))
    assert failure["code"] == 207001
    assert "device 0 is out of memory" in failure["message"]
