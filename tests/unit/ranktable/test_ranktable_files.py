# SPDX-License-Identifier: Apache-2.0
"""Rank tables are made as HCCL and the usual tools write them, and every mistake is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cannery.errors import MatrixError, RankTableError
from cannery.ranktable.check import check_rank_table
from cannery.ranktable.make import Host, addresses_in, hosts_in, merged, of_config_map, of_hosts
from cannery.ranktable.read import parse_rank_table

EXAMPLE = (Path(__file__).parent / "16-cards.json.txt").read_text(encoding="utf-8")
"""The merged table of two servers in the article on LLaMA-13B, with its omissions."""

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


def test_the_example_of_16_cards_to_the_byte() -> None:
    parts = []
    for name, addresses in ADDRESSES.items():
        each = of_hosts([Host(server_id=name, addresses=dict(enumerate(addresses)))], "1.0")
        parts.append(parse_rank_table(each.text(), name))
    lines = merged(parts).text().splitlines(keepends=True)
    shown = []
    for line in EXAMPLE.splitlines(keepends=True):
        if line.strip() == "...":
            # Six devices of five lines each are left out of the example.
            assert all(lines[n].strip() == "{" for n in range(0, 30, 5))
            del lines[:30]
        else:
            shown.append(line)
            assert lines.pop(0) == line
    assert not lines
    assert len(shown) == 39
    assert not problems(two_servers())


def test_version_1_2_has_super_pods() -> None:
    document = super_pods()
    assert document["version"] == "1.2"
    assert document["super_pod_list"] == [
        {"super_pod_id": "0", "server_list": [{"server_id": "node-0"}, {"server_id": "node-1"}]},
        {"super_pod_id": "1", "server_list": [{"server_id": "node-2"}, {"server_id": "node-3"}]},
    ]
    assert document["server_list"][2]["device"][1] == {
        "device_id": "1",
        "super_device_id": "37748741",
        "device_ip": "192.168.2.7",
        "rank_id": "5",
    }
    assert not problems(document)


def test_numbers_in_a_super_pod_are_not_made_up() -> None:
    with pytest.raises(RankTableError, match="needs the SuperPoD of server a"):
        of_hosts([Host(server_id="a", addresses={0: "10.0.0.1"})], "1.2")


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_config_map_of_kubernetes(form: str) -> None:
    table = json.dumps(two_servers())
    if form == "json":
        text = json.dumps({"kind": "ConfigMap", "data": {"hccl.json": table, "version": "1"}})
    else:
        block = table.replace("'", "''")
        text = f"apiVersion: v1\ndata:\n  hccl.json: '{block}'\n  version: '1'\nkind: ConfigMap\n"
    assert of_config_map(text, "map").text() == parse_rank_table(table, "").text()


def test_what_tools_add_is_kept() -> None:
    document = two_servers()
    document["server_list"][0] |= {"container_ip": "192.168.149.1", "hardware_type": "800I-A2"}
    document["server_list"][1] |= {"host_ip": "172.16.0.101"}
    document["server_list"][1]["device"][3] |= {"device_port": "16667"}
    table = parse_rank_table(json.dumps(document), "t.json")
    assert json.loads(table.text()) == document
    assert parse_rank_table(table.text(), "t.json") == table


@pytest.mark.parametrize("text", ["", "kind: ConfigMap", "data: {}", "data: [1]", "- 1", "data:\n"])
def test_a_config_map_without_a_table(text: str) -> None:
    with pytest.raises(RankTableError, match=r"has no hccl\.json below data"):
        of_config_map(text, "map.yaml")


def test_a_config_map_that_is_not_ready() -> None:
    text = 'data:\n  hccl.json: \'{"status":"initializing"}\'\n'
    with pytest.raises(RankTableError, match=r"hccl\.json: the rank table has no server_list"):
        of_config_map(text, "map.yaml")
    with pytest.raises(MatrixError):
        of_config_map("data: [", "map.yaml")


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
        "device 90.90.3.yy/0 has no device_ip",
        lambda d: servers(d)[1]["device"][0].pop("device_ip"),
    ),
    "a wrong address": (
        "device 90.90.3.yy/0: '10.0.0.xx' is not an address",
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
def test_what_is_no_table_is_refused(text: str) -> None:
    assert problems(text)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("node-1", "invalid number of slots '0'"),
        ("node-1 slots=eight", "invalid number of slots 'eight'"),
        ("node-1 slots=8 addresses=10.0.0.1", "8 slots and 1 addresses"),
        ("node-1 slot=8", "invalid word 'slot=8'"),
        ("node-1 slots=8 slots=8", "invalid word 'slots=8'"),
        ("node-1 8", "invalid word '8'"),
        ("# nothing", "hosts names no host"),
    ],
)
def test_a_line_of_hosts_that_cannot_be_read(line: str, said: str) -> None:
    with pytest.raises(RankTableError) as caught:
        hosts_in(f"\n{line}\n", "hosts", "")
    [problem] = caught.value.problems
    assert said in str(problem)
    assert line.startswith("#") or str(problem).startswith("hosts:2:1: ")


def test_cards_are_chosen() -> None:
    text = conf(ADDRESSES["90.90.3.xx"])
    assert addresses_in(text, "hccn.conf", "0,7") == {0: "10.0.0.36", 7: "10.0.0.48"}
    assert [*hosts_in("a slots=2 addresses=1.1.1.1,1.1.1.2", "h", "4-5")[0].addresses] == [4, 5]
    for cards in ("8", "6-9"):
        with pytest.raises(RankTableError, match=r"hccn\.conf has no address of cards 8"):
            addresses_in(text, "hccn.conf", cards)
    for cards in ("x", "3-1", "1,1"):
        with pytest.raises(RankTableError, match="invalid list of cards"):
            addresses_in(text, "hccn.conf", cards)
    with pytest.raises(RankTableError, match="has no address"):
        addresses_in("nothing", "hccn.conf", "")


def test_tables_of_several_versions_are_not_merged() -> None:
    tables = [parse_rank_table(json.dumps(each), "t") for each in (two_servers(), super_pods())]
    with pytest.raises(RankTableError, match=r"of the versions 1\.0 and 1\.2"):
        merged(tables)
