# SPDX-License-Identifier: Apache-2.0
"""Results as JSON, and what is wrong, in one form for all commands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cannery.cli import results
from cannery.cli.commands import SUMMARIES, load
from tests.cli.checkout import Checkout

WITHOUT = {
    "catalog": "writes a page, and says on stderr if it has changed",
    "ci": "prints the jobs in the form of a CI service, which is JSON for GitHub",
    "completion": "prints a script for a shell",
    "doctor": "passes on its words, --json too",
    "init": "writes files, and says on stderr which",
    "lock": "writes locks, and says on stderr which",
    "render": "writes images/, and says on stderr which files",
    "run": "becomes the container, or prints a file of another tool",
    "scan": "prints what the scanner does; the scanner itself has JSON",
    "sync": "writes files, and says on stderr how many",
    "test": "writes its report into files: --json FILE and --junit FILE",
}
"""The commands without results as JSON, and why."""

QUICK = {
    "check": ["py39-torch231-cann8t39"],
    "config": [],
    "explain": ["py39-torch231-cann8t39"],
    "fetch": ["--stored"],
    "list": ["py39-torch231-cann8t39"],
    "new": ["--python", "3.11"],
    "build": ["py39-torch231-cann8t39", "--plan", "--simulate"],
}
"""Those that need neither an engine, nor a registry, nor an index."""

WRONG: dict[str, list[str]] = {
    "check": ["no-such"],
    "bundle": ["no-such", "--out", "x"],
    "diff": ["releases/none.json", "releases/nothing.json"],
    "explain": ["no-such"],
    "fetch": ["--cann", "1.0"],
    "list": ["no-such"],
    "new": ["--python", "2.7"],
    "build": ["no-such", "--plan"],
    "promote": ["a.test/b", "a.test/c"],
    "push": ["no-such", "--registry", "a.test"],
    "update": ["no-such"],
}


def has_json(name: str) -> bool:
    return any("json" in each.option.choices for each in load(name).declared)


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_has_json_or_a_reason(name: str) -> None:
    assert has_json(name) != (name in WITHOUT)


def test_every_command_with_json_is_tried() -> None:
    assert {*WRONG, "config"} == {name for name in SUMMARIES if has_json(name)}


@pytest.mark.parametrize("name", QUICK)
def test_results_are_one_document(name: str, original: Checkout) -> None:
    for words in (["--json"], ["--format", "json"]):
        shown = original.run(name, *QUICK[name], *words)
        assert json.loads(shown.out)
        assert "errors" not in json.loads(shown.out)
        assert "Traceback" not in shown.err


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_document(name: str, original: Checkout) -> None:
    failed = original.run(name, *WRONG[name], "--json")
    document = json.loads(failed.out)
    assert {*document} == {"errors", "code"}
    assert (document["code"], len(document["errors"])) == (failed.code, len(failed.messages))
    for error, message in zip(document["errors"], failed.messages, strict=True):
        assert {*error} == {"what", "fix", "file", "line", "column"}
        assert error["what"] in message
        assert error["fix"] in message


def test_a_wrong_command_line_is_a_document(original: Checkout) -> None:
    for words in (["list", "--jsn", "--json"], ["lst", "--json"], ["list", "--format=json", "--x"]):
        failed = original.run(*words)
        assert json.loads(failed.out)["code"] == failed.code == 2


def test_a_mistake_in_a_file_has_its_place(checkout: Checkout) -> None:
    (checkout.root / "cannery.toml").write_text("job = 1\n", encoding="utf-8")
    document: Any = json.loads(checkout.run("config", "--json").out)
    [error] = document["errors"]
    assert (error["file"], error["line"], error["column"]) == ("cannery.toml", 1, 1)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["list", "--json"], True),
        (["build", "x", "--plan", "--format", "json"], True),
        (["run", "x", "--", "tool", "--json"], False),
        (["doctor", "--json"], False),
        (["test", "--image", "x", "--json", "report.json"], False),
        (["list", "--format", "names"], False),
    ],
)
def test_json_is_asked_for(words: list[str], wanted: bool) -> None:
    assert results.wanted(words) == wanted
