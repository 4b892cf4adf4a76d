# SPDX-License-Identifier: Apache-2.0
"""The order of visible devices, drivers between known releases, rank tables 2.0, 310P pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_doctor.examine import examine
from ascend_doctor.host import Output
from ascend_doctor.machine import Machine
from ascend_doctor.partners import packed_facts
from ascend_doctor.ranktable.host_check import rank_table_problems
from tests.hosts import SimulatedHost, recorded
from tests.ranktable.tables import two_servers

TABLES = Path(__file__).parent / "rank_tables"
VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        *(("0,2,4,6,1,3,5,7", {"visible-order"}), ("0,0", {"visible-order"}), ("0,1,7", set())),
        *(
            ("7,8", {"visible-missing"}),
            ("9,1", {"visible-order", "visible-missing"}),
            ("3", set()),
        ),
    ],
)
def test_the_order_of_visible_devices(host: SimulatedHost, value: str, ids: set[str]) -> None:
    host.environment[VISIBLE] = value
    assert host.ids() == ids


def test_the_right_order_is_shown(host: SimulatedHost) -> None:
    host.environment[VISIBLE] = "0,2,1"
    [finding] = host.findings()
    assert finding.values["right"] == "0,1,2"


@pytest.mark.parametrize(
    ("value", "split"), [("0,1", False), ("0,2", True), ("1", False), ("0,1,2", True)]
)
def test_chips_of_a_duo_are_taken_together(host: SimulatedHost, value: str, *, split: bool) -> None:
    lines = recorded("npu-smi-24.1-310p").splitlines(keepends=True)
    first = lines[6:12]
    swaps = {"| 2       310P3": "| 5       310P3", "| 0       0 ": "| 0       2 "}
    swaps["| 1       1 "] = "| 1       3 "
    second = "".join(first)
    for old, new in swaps.items():
        assert old in second
        second = second.replace(old, new)
    text = "".join([*lines[:12], second, *lines[12:]])
    host.outputs["npu-smi info"] = Output("ok", text)
    host.environment[VISIBLE] = value
    assert ("pair-split" in host.ids()) is split


def with_facts(host: SimulatedHost, driver: str, cann: str) -> set[str]:
    host.edit("/usr/local/Ascend/driver/version.info", "24.1.rc1.b030", driver)
    host.edit("npu-smi info", "24.1.rc1.b030", driver)
    machine = Machine(host.write(), packed_facts(), cann)
    return {each.id for each in examine(machine) if each.id.startswith("driver")}


@pytest.mark.parametrize(
    ("driver", "cann", "ids"),
    [
        # vllm-project/vllm-ascend#5468: nobody names the driver of 8.3.RC2.
        ("24.1.rc1", "8.3.RC1", {"driver-old"}),
        ("24.1.rc1", "8.3.RC2", {"driver-old-inferred"}),
        ("25.5.0", "8.3.RC2", set()),
        ("25.3.RC1", "8.3.RC2", {"driver-unsourced"}),
        ("25.5.0", "99.0.0", {"driver-old-inferred"}),
        ("26.0.RC1", "99.0.0", {"driver-unsourced"}),
    ],
)
def test_a_driver_between_known_releases(
    host: SimulatedHost, driver: str, cann: str, ids: set[str]
) -> None:
    assert with_facts(host, driver, cann) == ids


@pytest.mark.parametrize(
    ("version", "named"), [("1.0", "192.0.2.44/0, 192.0.2.44/1, "), ("2.0", "rank 0, 1")]
)
def test_cards_without_an_address_are_named(host: SimulatedHost, version: str, named: str) -> None:
    host.files["/etc/rt.json"] = (TABLES / f"dashes-{version}.json").read_text(encoding="utf-8")
    host.environment["RANK_TABLE_FILE"] = "/etc/rt.json"
    [finding] = host.findings()
    assert finding.id == "rank-table"
    assert named in finding.values["problem"]
    assert " address" in finding.values["problem"]


def table_2(**changes: Any) -> dict[str, Any]:
    def rank(number: int) -> dict[str, Any]:
        address = {"addr_type": "IPV4", "addr": f"192.0.2.{number}", "ports": ["1/0"]}
        level = {"net_layer": 0, "net_instance_id": "a", "rank_addr_list": [address]}
        return {"rank_id": number, "local_id": number, "device_id": number, "level_list": [level]}

    ranks = [rank(0), rank(1)]
    return {"version": "2.0", "status": "completed", "rank_count": 2, "rank_list": ranks, **changes}


@pytest.mark.parametrize(
    ("table", "chips", "problem"),
    [
        (table_2(), ["950PR"], ""),
        (table_2(rank_count=3), ["950PR"], "rank_count is 3, and the list has 2 ranks"),
        (table_2(rank_list=None), ["950PR"], "it has no rank_list"),
        (table_2(rank_list=[], rank_count=0), ["950PR"], ""),
        (table_2(status="initializing"), ["950PR"], "the status is 'initializing'"),
        (two_servers(), ["950PR"], "2.0 only"),
        (two_servers(), ["910B3"], ""),
        ({"version": "1.0", "status": "completed"}, ["910B3"], "has no server_list"),
        ([], [], "the rank table is not an object"),
    ],
)
def test_a_rank_table(table: Any, chips: list[str], problem: str) -> None:
    found = [*rank_table_problems(json.dumps(table), chips)]
    assert [problem in each for each in found] == ([True] if problem else [])


def test_ranks_are_numbered_once(host: SimulatedHost) -> None:
    device = {"device_id": "0", "device_ip": "192.0.2.1", "rank_id": "1"}
    servers = [{"server_id": "a", "device": [device, device]}]
    table = {"version": "1.0", "status": "completed", "server_list": servers}
    problems = [*rank_table_problems(json.dumps(table), [])]
    assert "rank 1 is there 2 times: a/0, a/0" in problems
    assert "rank 0 is missing of 2" in problems
