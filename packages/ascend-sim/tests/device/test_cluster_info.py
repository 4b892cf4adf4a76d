# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .hosts import Host


def table(version: str = "1.0", ranks: tuple[str, ...] = ("0", "1"), **changes: str) -> Any:
    devices = [
        {"device_id": rank, "device_ip": f"10.0.0.{rank}", "rank_id": rank} for rank in ranks
    ]
    return {
        "version": version,
        "server_count": "1",
        "server_list": [{"server_id": "127.0.0.1", "device": devices, "host_nic_ip": "reserve"}],
        "status": "completed",
        **changes,
    }


@pytest.mark.parametrize("version", ["1.0", "1.2"])
def test_ranks_meet_by_a_table(host: Host, tmp_path: Path, version: str) -> None:
    path = tmp_path / "hccl.json"
    path.write_text(json.dumps(table(version, host=str(tmp_path)), indent=4))
    started = [host.start("join_by_table", str(path), str(rank)) for rank in range(2)]
    assert [json.loads(rank.communicate(timeout=60)[0]) for rank in started] == [[1, 2]] * 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is not JSON at byte 0"),
        ('{"version": "1.0"', "is not JSON at byte 17"),
        ('{"version": "1.0", "status": "comp\\', "is not JSON at byte 35"),
        ('{"version": "1.0", "status": "comp\\"', "is not JSON at byte 36"),
        ('{"version": "1.0", "stat\\', "is not JSON at byte 25"),
        ("[" * 50, "is not JSON at byte 17"),
        (json.dumps({"version": "1.0"}), 'has no "status"'),
        (json.dumps(table("2.0")), "has version '2.0'; 1.0 and 1.2 are known"),
        (json.dumps(table(status="initializing")), "has status 'initializing'"),
        (json.dumps(table(server_count="2")), 'another number of servers than "server_count"'),
        (json.dumps(table(ranks=("0", "0"))), "has rank_id 0 twice"),
        (json.dumps(table(ranks=("0", "2"))), "must have the rank_ids 0 to n - 1"),
        (json.dumps(table(ranks=())), "must have the rank_ids 0 to n - 1"),
        (json.dumps(table(ranks=("0", "x"))), "\"rank_id\" is no number: 'x'"),
    ],
)
def test_a_bad_table_is_reported(host: Host, tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "hccl.json"
    path.write_text(text)
    failure = host.ask("join_by_table", str(path), "0")
    assert failure["code"] == 1
    assert f"EI0004: The ranktable is invalid. {path} " in failure["message"]
    assert complaint in failure["message"]


def test_a_missing_table_is_reported(host: Host, tmp_path: Path) -> None:
    failure = host.ask("join_by_table", str(tmp_path / "none.json"), "0")
    assert f"{tmp_path}/none.json cannot be read" in failure["message"]


def test_a_rank_outside_the_table_is_reported(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "hccl.json"
    path.write_text(json.dumps(table()))
    assert "rank 2 of 2" in host.ask("join_by_table", str(path), "2")["message"]
