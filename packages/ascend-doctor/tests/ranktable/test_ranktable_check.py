# SPDX-License-Identifier: Apache-2.0
"""Every mistake in a rank table is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ascend_doctor.problems import RankTableError
from ascend_doctor.ranktable.read import parse_rank_table
from tests.ranktable.tables import problems, super_pods, two_servers

Change = Callable[[dict[str, Any]], object]


def servers(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["server_list"]
    return found


WRONG: dict[str, tuple[str, Change]] = {
    "a device is missing": (
        "server 90.90.3.yy has 7 devices, others have 8: device 3 is missing",
        lambda d: servers(d)[1]["device"].pop(3),
    ),
    "half the servers": ("server_count is '2', but server_list has 1", lambda d: servers(d).pop()),
    "a server twice": (
        "server 90.90.3.xx is there 2 times",
        lambda d: servers(d)[1].update(server_id="90.90.3.xx"),
    ),
    "a device twice": (
        "server 90.90.3.xx has device 2 2 times",
        lambda d: servers(d)[0]["device"][3].update(device_id="2"),
    ),
    "an address twice": (
        "address 10.0.1.2 belongs to several devices: 90.90.3.xx/2, 90.90.3.yy/4",
        lambda d: servers(d)[1]["device"][4].update(device_ip="10.0.1.2"),
    ),
    "a rank twice": (
        "rank 9 is there 2 times: 90.90.3.yy/1, 90.90.3.yy/4",
        lambda d: servers(d)[1]["device"][4].update(rank_id="9"),
    ),
    "ranks of single servers": (
        "ranks 8, 9, 10, 11, 12, 13, 14, 15 are missing of 16",
        lambda d: [each.update(rank_id=str(n)) for n, each in enumerate(servers(d)[1]["device"])],
    ),
    "ranks across servers": (
        "the ranks of server 90.90.3.xx are not consecutive",
        lambda d: (
            servers(d)[0]["device"][7].update(rank_id="8"),
            servers(d)[1]["device"][0].update(rank_id="7"),
        ),
    ),
    "no address": (
        "device 90.90.3.yy/0 is without device_ip",
        lambda d: servers(d)[1]["device"][0].pop("device_ip"),
    ),
    "a wrong address": (
        "device 90.90.3.yy/0 is without an address: device_ip is '10.0.0.xx'",
        lambda d: servers(d)[1]["device"][0].update(device_ip="10.0.0.xx"),
    ),
    "both families": (
        "the addresses are of IPv4 and of IPv6",
        lambda d: servers(d)[1]["device"][0].update(device_ip="fe80::1"),
    ),
    "initializing": (
        "the status is 'initializing', not 'completed'",
        lambda d: d.update(status="initializing"),
    ),
    "a version": ("unknown version '1.1'", lambda d: d.update(version="1.1")),
    "no version": ("the rank table has no version", lambda d: d.pop("version")),
    "no devices": (
        "server_list[1] has no device, or it is empty",
        lambda d: servers(d)[1].update(device=[]),
    ),
    "a rank that is a word": (
        "server_list[0].device[5]: rank_id is 'five', which is not a number",
        lambda d: servers(d)[0]["device"][5].update(rank_id="five"),
    ),
    "a server that is a list": (
        "server_list[0] is not an object",
        lambda d: servers(d).__setitem__(0, []),  # type: ignore[call-overload]
    ),
    "pods in version 1.0": (
        "version 1.0 has no super_pod_list",
        lambda d: d.update(super_pods() | {"version": "1.0"}),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_named(name: str) -> None:
    said, change = WRONG[name]
    document = two_servers()
    change(document)
    found = problems(document)
    assert any(each.startswith(f"t.json: {said}") for each in found), found


def pods(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["super_pod_list"]
    return found


WRONG_PODS: dict[str, tuple[str, Change]] = {
    "an unknown server": (
        "super_pod_list names server node-9, which is missing",
        lambda d: pods(d)[0]["server_list"][0].update(server_id="node-9"),
    ),
    "a server in no pod": (
        "no SuperPoD has server node-3",
        lambda d: pods(d)[1]["server_list"].pop(),
    ),
    "a server in two pods": (
        "server node-0 is in super_pod_list 2 times",
        lambda d: pods(d)[1]["server_list"].append({"server_id": "node-0"}),
    ),
    "a pod twice": (
        "super_pod_list[1]: super_pod_id '0' is there twice",
        lambda d: pods(d)[1].update(super_pod_id="0"),
    ),
    "a number twice": (
        "SuperPoD 0 has super_device_id 37748736 2 times",
        lambda d: servers(d)[1]["device"][0].update(super_device_id="37748736"),
    ),
    "no number": (
        "device node-1/0 is without super_device_id",
        lambda d: servers(d)[1]["device"][0].pop("super_device_id"),
    ),
    "mixed pods": (
        "the servers are not in the order of their SuperPoDs",
        lambda d: servers(d).reverse(),
    ),
}


@pytest.mark.parametrize("name", WRONG_PODS)
def test_a_mistake_in_super_pods_is_named(name: str) -> None:
    said, change = WRONG_PODS[name]
    document = super_pods()
    change(document)
    found = problems(document)
    assert any(each.startswith(f"t.json: {said}") for each in found), found


def test_every_prefix_of_a_table_is_refused_as_cut() -> None:
    text = json.dumps(two_servers(), indent=4)
    for length in range(0, len(text) - 1, 37):
        [said] = problems(text[:length])
        assert "the file ends too early" in said or "Expecting" in said
    assert "t.json:3:" in problems(text[:40])[0]


@pytest.mark.parametrize(
    "text", ["[]", "1", "null", "[" * 100_000, "9" * 5000, '{"a": 1, "a": 2}', "\ufeff{}", "{1}"]
)
def test_an_invalid_rank_table_is_refused(text: str) -> None:
    assert problems(text)


def test_a_table_that_is_not_written_yet_or_of_the_older_form_is_told() -> None:
    for document, says in (
        ({"status": "initializing"}, "it is not completed yet: its status is 'initializing'"),
        ({"status": "completed", "group_list": []}, "the older form of a rank table"),
    ):
        with pytest.raises(RankTableError) as caught:
            parse_rank_table(json.dumps(document), "hccl.json")
        [problem] = caught.value.problems
        assert says in str(problem)
