# SPDX-License-Identifier: Apache-2.0
"""Memory of the host and of other processes."""

from __future__ import annotations

import errno
import json

import pytest

from .hosts import Host

WRONG = 100000
HOST, DEVICE, UNREGISTERED = 0, 1, 2


def test_host_memory_is_registered_once(host: Host) -> None:
    assert host.ask("register_host_memory") == {
        "codes": [0, WRONG, 0, WRONG],
        "same": True,
        "locations": [UNREGISTERED, HOST, UNREGISTERED],
        "device": DEVICE,
    }


def test_memory_is_shared_between_processes(host: Host) -> None:
    owner = host.start("share_memory")
    assert owner.stderr is not None
    key = ""
    while not key.startswith("npusim:"):
        key = owner.stderr.readline().strip()
    assert host.ask("use_shared_memory", key) == ["first", 0, WRONG]
    out, _ = owner.communicate("\n", timeout=60)
    assert json.loads(out) == "other"


@pytest.mark.parametrize(
    ("key", "complaint"),
    [("nonsense", "no key of shared"), ("npusim:999999999:3:0:5", "has ended")],
)
def test_a_bad_key_is_an_error(host: Host, key: str, complaint: str) -> None:
    failure = host.ask("use_a_bad_key", key)
    assert failure["code"] == WRONG
    assert complaint in failure["message"]


def test_an_event_is_complete_when_it_is_recorded(host: Host) -> None:
    assert host.ask("event_before_and_after_its_record") == [0, 1, 0]


def test_freed_memory_is_given_again(host: Host) -> None:
    assert host.ask("reuse_of_freed_memory") == {"aligned": True, "again": True}


def test_no_activity_is_collected(host: Host) -> None:
    assert host.ask("collection_of_activities") is False


def test_an_empty_profile_is_reported_once(host: Host) -> None:
    codes, said = host.run("profile")
    assert codes == [0, 0]
    assert said.count("a simulated device has no profiling data") == 1


def test_a_text_never_leaves_its_buffer(host: Host) -> None:
    assert host.ask("bounded_text") == {
        "printed": [[7, "seven.."], [-1, ""], [-1, "fou"]],
        "copied": [[0, "abc"], [errno.ERANGE, ""], [errno.EINVAL, ""]],
    }
