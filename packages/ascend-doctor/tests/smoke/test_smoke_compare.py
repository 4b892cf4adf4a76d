# SPDX-License-Identifier: Apache-2.0
"""Comparisons of hosts by the documents of their smoke tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascend_doctor.problems import FileError
from ascend_doctor.smoke.compare import Row, compare
from ascend_doctor.smoke.model import parse_document, to_json
from ascend_doctor.smoke.report import to_comparison
from tests.smoke.smokes import document_of, good_items

FIRST = document_of(good_items())


def rows_with(*, simulated: bool = False, **speeds: float) -> dict[str, Row]:
    items = good_items(simulated=simulated)
    for each in items:
        if each["item"] == "memory-speed" and "memory" in speeds:
            each["gb_s"] = speeds["memory"]
    return {each.name: each for each in compare(FIRST, document_of(items, "node2"))}


def test_a_document_is_read_as_it_was_written() -> None:
    assert parse_document(to_json(FIRST), "a.json") == FIRST


def test_equal_hosts() -> None:
    rows = rows_with(memory=1250.0)
    assert not [each for each in rows.values() if each.differs]
    assert rows["memory-speed"].remark == "+4%"


def test_a_slower_host_is_shown_first() -> None:
    second = document_of(good_items(), "node2")
    rows = compare(FIRST, second)
    slow = rows_with(memory=900.0)["memory-speed"]
    assert (slow.differs, slow.remark) == (True, "-25%")
    said = to_comparison(FIRST, second, [*rows, slow])
    lines = said.splitlines()
    assert lines[0] == "node1 and node2: 1 difference"
    assert " ".join(lines[3].split()) == "memory-speed 1,200.0 GB/s 900.0 GB/s -25% differs"


def test_speeds_are_not_compared_with_a_simulated_device() -> None:
    rows = rows_with(simulated=True)
    assert rows["simulated"].differs
    assert not rows["matmul/float32"].differs
    assert rows["memory-speed"].second == "-"
    second = document_of(good_items(simulated=True), "node2")
    assert "speeds are not compared" in to_comparison(FIRST, second, [])


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"device": {}},
        {"device": []},
        {"checks": [1]},
        {"checks": [{"name": "a"}]},
        {"checks": None},
    ],
)
def test_invalid_documents_are_refused(change: dict[str, Any]) -> None:
    text = json.dumps({**json.loads(to_json(FIRST)), **change})
    with pytest.raises(FileError, match="not a document of"):
        parse_document(text, "a.json")


@pytest.mark.parametrize("text", ["", "[]", "1", "[" * 100_000, to_json(FIRST)[:400]])
def test_non_documents_are_refused(text: str) -> None:
    with pytest.raises(FileError, match=r"a\.json is not a document"):
        parse_document(text, "a.json")


@pytest.mark.parametrize("value", ["1e999", "NaN", '"fast"', "[]"])
def test_an_invalid_speed_is_refused(value: str) -> None:
    text = to_json(FIRST).replace('"value": 1200.0', f'"value": {value}')
    with pytest.raises(FileError):
        parse_document(text, "a.json")
