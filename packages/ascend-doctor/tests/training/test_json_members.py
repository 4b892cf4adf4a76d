# SPDX-License-Identifier: Apache-2.0
"""JSON is read value by value, wherever the pieces of the file end."""

from __future__ import annotations

import io
import json

import pytest

from ascend_doctor.training.json_members import JsonMembers

DOCUMENT = {
    "epoch": 1.25,
    "name": 'a "quoted" \\ text',
    "count": 1234567,
    "data": {"a": {"b": [1, 2.5e-3, None]}, "c": -12, "d": "", "e": True},
    "after": 7,
}


class Trickle(io.StringIO):
    """Gives a few characters at a time, as a pipe may."""

    def __init__(self, text: str, most: int) -> None:
        super().__init__(text)
        self._most = most

    def read(self, size: int | None = -1) -> str:
        return super().read(min(size or 0, self._most))


@pytest.mark.parametrize("most", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("indent", [None, 1])
def test_pieces_do_not_matter(most: int, indent: int | None) -> None:
    members = JsonMembers(Trickle(json.dumps(DOCUMENT, indent=indent), most), "data")
    assert dict(members) == DOCUMENT["data"]
    assert members.header == {key: DOCUMENT[key] for key in ("epoch", "name", "count")}
    assert not members.problem
    assert dict(JsonMembers(Trickle(json.dumps(DOCUMENT, indent=indent), most))) == DOCUMENT


def test_a_file_of_many_megabytes() -> None:
    data = {f"operator.{number}": {"output": [number] * 50} for number in range(20_000)}
    assert dict(JsonMembers(io.StringIO(json.dumps({"data": data}, indent=1)), "data")) == data


@pytest.mark.parametrize("most", [1, 5, 1000])
def test_a_cut_file_gives_its_whole_members(most: int) -> None:
    text = json.dumps(DOCUMENT["data"])
    expected = [*json.loads(text).items()]
    for end in range(len(text)):
        members = JsonMembers(Trickle(text[:end], most))
        found = [*members]
        assert found == expected[: len(found)]
        assert members.problem.startswith("it ends too early, near character")


def test_items_of_an_array_have_no_names() -> None:
    assert [*JsonMembers(io.StringIO('{"x": [1, {"y": 2}]}'), "x")] == [("", 1), ("", {"y": 2})]
    assert [*JsonMembers(io.StringIO('{"x": []}'), "x")] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1 "b": 2}', "it is not JSON, near character 8"),
        ('{"a": tru}' + " " * 100, "it is not JSON"),
        ('{"a": "' + "x" * 70_000_000, "a value in it is too long"),
        ("5", "it is not JSON"),
    ],
)
def test_invalid_json_is_reported(text: str, problem: str) -> None:
    members = JsonMembers(io.StringIO(text))
    assert [*members] in ([], [("a", 1)])
    assert members.problem.startswith(problem)
