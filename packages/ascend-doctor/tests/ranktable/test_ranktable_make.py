# SPDX-License-Identifier: Apache-2.0
"""Rank tables are made as HCCL and the usual tools write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_doctor.problems import RankTableError
from ascend_doctor.ranktable.make import (
    Host,
    addresses_in,
    hosts_in,
    merged,
    of_config_map,
    of_hosts,
)
from ascend_doctor.ranktable.read import parse_rank_table
from tests.ranktable.tables import ADDRESSES, conf, problems, super_pods, two_servers

EXAMPLE = (Path(__file__).parent / "16-cards.json.txt").read_text(encoding="utf-8")
"""The merged table of two servers in the article on LLaMA-13B, with its omissions."""


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


def yaml_of(value: str, after: str = "  version: '1'\n") -> str:
    return f"apiVersion: v1\ndata:\n{after}  hccl.json: {value}\n{after}kind: ConfigMap\n"


@pytest.mark.parametrize("form", ["json", "single", "double", "block", "folded", "indented"])
def test_a_config_map_of_kubernetes(form: str) -> None:
    table = json.dumps(two_servers())
    lines = json.dumps(two_servers(), indent=1).replace("\n", "\n    ")
    single, escaped = table.replace("'", "''"), json.dumps(table)
    text = {
        "json": json.dumps({"kind": "ConfigMap", "data": {"hccl.json": table, "version": "1"}}),
        "single": yaml_of(f"'{single}'"),
        # As go-yaml breaks long lines.
        "double": yaml_of(escaped.replace(", ", ",\n    ", 3).replace(", ", ", \\\n    \\ ", 1)),
        "block": yaml_of(f"|-\n    {lines}"),
        "folded": yaml_of(f">\n    {lines}", after="  # a comment\n\n"),
        "indented": yaml_of("|\n" + "".join(f"      {each}\n" for each in lines.split("\n"))),
    }[form]
    assert of_config_map(text, "map").text() == parse_rank_table(table, "").text()


def test_fields_of_other_tools_are_kept() -> None:
    document = two_servers()
    document["server_list"][0] |= {"container_ip": "192.168.149.1", "hardware_type": "800I-A2"}
    document["server_list"][1] |= {"host_ip": "172.16.0.101"}
    document["server_list"][1]["device"][3] |= {"device_port": "16667"}
    table = parse_rank_table(json.dumps(document), "t.json")
    assert json.loads(table.text()) == document
    assert parse_rank_table(table.text(), "t.json") == table


@pytest.mark.parametrize(
    "text",
    [
        *("", "kind: ConfigMap", "data: {}", "data: [1]", "- 1", "data:\n", "data: [", "{"),
        *('{"data": 1}', "data:\n  hccl.json: '", "data:\n  x:\n    hccl.json: |\n      {}"),
        'data:\n  hccl.json: "a\\q"',
    ],
)
def test_a_config_map_without_a_table(text: str) -> None:
    with pytest.raises(RankTableError, match=r"has no hccl\.json below data"):
        of_config_map(text, "map.yaml")


def test_an_initializing_config_map_is_refused() -> None:
    text = 'data:\n  hccl.json: \'{"status":"initializing"}\'\n'
    with pytest.raises(RankTableError, match=r"hccl\.json: it is not completed yet"):
        of_config_map(text, "map.yaml")


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
def test_an_invalid_hostfile_line_is_refused(line: str, said: str) -> None:
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
