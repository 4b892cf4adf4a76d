# SPDX-License-Identifier: Apache-2.0
"""Texts of others are read at the doors that are made for it, and numbers have ASCII digits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "cannery"
APART = ("image/context", "verify/probe")
"""Programs of their own, which cannot import the doors."""

DOOR = "common/outside.py"
OWN = {
    **dict.fromkeys(
        (
            *("common/files.py", "fetch/store.py", "fetch/transfer.py"),
            *("registry/image_archive.py", "verify/verification.py"),
        ),
        "files in .cannery, which this program has written",
    ),
    **dict.fromkeys(
        ["image/environment.py", "image/simulator_spec.py"],
        "files of this package",
    ),
    **dict.fromkeys(
        ["engine/base.py", "engine/bake.py", "engine/images.py", "image/bake_events.py"],
        "what the engine and buildx of this machine say, in a form of theirs, and notes of it",
    ),
    "publish/push.py": "documents that this run has made",
}
"""Modules that read JSON themselves, with the reason."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(APART):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


SOURCES = dict(sources())


def calls(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func)


def test_json_and_toml_of_others_have_one_door() -> None:
    parsing = {"json.loads", "json.load", "tomllib.loads", "tomllib.load"}
    found = {
        name
        for name, tree in SOURCES.items()
        if any(call in parsing or call.endswith("response.json") for call in calls(tree))
    }
    assert found - {*OWN} == {DOOR}
    assert {*OWN} <= found, "these need no exception any more"


def test_json_that_people_read_has_escapes() -> None:
    own = {
        "image/bake_file.py": "a file for buildx, which takes escapes for something else",
        "image/render.py": "target.json, of matrix.yaml",
        "publish/provenance.py": "bytes that are hashed",
    }
    found = {
        name
        for name, tree in SOURCES.items()
        if any(
            isinstance(node, ast.keyword)
            and node.arg == "ensure_ascii"
            and ast.unparse(node.value) == "False"
            for node in ast.walk(tree)
        )
    }
    assert found - {*own} == {"common/outside.py"}, "use cannery.common.outside.json_text"
    assert {*own} <= found, "these need no exception any more"


def test_the_session_of_the_web_has_one_rule() -> None:
    found = {
        name
        for name, tree in SOURCES.items()
        if {"requests.Session", "requests.get", "requests.post"} & {*calls(tree)}
    }
    assert not found, "use cannery.common.http.Session"


@pytest.mark.parametrize("name", SOURCES)
def test_a_digit_in_a_pattern_is_one_of_ascii(name: str) -> None:
    texts = [
        node.value
        for node in ast.walk(SOURCES[name])
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert not [text for text in texts if "\\d" in text], "write [0-9]"


def test_the_tests_that_the_table_of_trust_names_are_there() -> None:
    text = (PACKAGE.parent / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len({line for line in text.splitlines() if line.startswith("|") and "::" in line}) == 12
    for file, test in named:
        assert f"def {test}(" in (PACKAGE.parent / file).read_text(encoding="utf-8"), (file, test)
