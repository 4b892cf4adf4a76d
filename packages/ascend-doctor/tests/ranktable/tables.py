# SPDX-License-Identifier: Apache-2.0
"""Rank tables of servers and of SuperPods, and what is wrong with one."""

from __future__ import annotations

import json
from typing import Any

from ascend_doctor.problems import RankTableError
from ascend_doctor.ranktable.check import check_rank_table
from ascend_doctor.ranktable.make import Host, addresses_in, hosts_in, of_hosts
from ascend_doctor.ranktable.read import parse_rank_table

ADDRESSES = {
    "90.90.3.xx": ["10.0.0.36", *(f"10.0.1.{n}" for n in range(1, 7)), "10.0.0.48"],
    "90.90.3.yy": ["10.0.0.37", *(f"10.0.2.{n}" for n in range(1, 7)), "10.0.0.49"],
}


def conf(addresses: list[str]) -> str:
    return "".join(f"address_{n}={a}\nnetmask_{n}=255.255.255.0\n" for n, a in enumerate(addresses))


def two_servers() -> dict[str, Any]:
    hosts = [
        Host(server_id=name, addresses=addresses_in(conf(each), "hccn.conf", ""))
        for name, each in ADDRESSES.items()
    ]
    document: dict[str, Any] = json.loads(of_hosts(hosts, "1.0").text())
    return document


def super_pods() -> dict[str, Any]:
    lines = [
        f"node-{n} slots=2 addresses=192.168.{n}.6,192.168.{n}.7 super_pod={n // 2} "
        f"super_devices={37748736 + 2 * n},{37748737 + 2 * n}"
        for n in range(4)
    ]
    table = of_hosts(hosts_in("\n".join(lines), "hosts", ""), "1.2")
    document: dict[str, Any] = json.loads(table.text())
    return document


def problems(document: object) -> list[str]:
    text = document if isinstance(document, str) else json.dumps(document)
    try:
        found = check_rank_table(parse_rank_table(text, "t.json"), "t.json")
    except RankTableError as error:
        found = [*error.problems]
    return [str(problem) for problem in found]
