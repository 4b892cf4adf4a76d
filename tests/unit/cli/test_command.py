# SPDX-License-Identifier: Apache-2.0
"""Options classes from what was typed, and combinations that are refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.cli.command import read
from cannery.cli.parser import check
from cannery.common.option import OptionSet, declared, option


@dataclass(frozen=True, kw_only=True)
class Made(OptionSet):
    name: str = option("a name")
    place: Path = option("a place", default=Path("here"))
    tags: tuple[str, ...] = option("tags", default=())
    number: int | None = option("n", default=None, flags=("-n", "--no"))
    loud: bool = option("loud", default=False, conflicts=("soft", "name"))
    soft: bool = option("soft", default=True, flags=("--hard",))
    deep: str = option("deep", default="", needs="loud")
    inner: int = 7


ROOT = Path("/root")


def said(given: dict[str, Any], *one_of: str) -> list[str]:
    return [str(problem) for problem in check(declared(Made), given, one_of)]


def test_what_was_given_and_the_defaults_of_the_rest() -> None:
    found = read(Made, {"name": "x", "tags": ["a", "b"], "soft": False, "foreign": 1}, ROOT)
    assert found == Made(name="x", place=Path("/root/here"), tags=("a", "b"), soft=False)
    assert read(Made, {"name": "x", "place": Path("/there")}, ROOT).place == Path("/there")


def test_a_field_says_what_it_takes() -> None:
    found = {each.name: each for each in declared(Made)}
    assert "inner" not in found
    assert [each.name for each in found.values() if each.required] == ["name"]
    assert (found["place"].kind, found["tags"].kind, found["number"].kind) == (Path, str, int)
    assert (found["tags"].repeated, found["number"].repeated) == (True, False)
    assert (found["number"].flags, found["number"].label) == (("-n", "--no"), "--no")
    assert found["place"].flags == ("--place",)


def test_what_goes_together() -> None:
    assert said({"name": "x", "place": Path("/x"), "tags": ["a"]}) == []
    assert said({"loud": True, "deep": "x"}) == []


def test_what_does_not_go_together_is_said_at_once() -> None:
    assert said({"deep": "x"}) == ["--deep needs --loud."]
    assert said({"loud": True, "soft": False, "name": "x"}) == [
        "--loud and --hard cannot be combined. Leave one of them out.",
        "--loud and --name cannot be combined. Leave one of them out.",
    ]
