# SPDX-License-Identifier: Apache-2.0
"""``build.py config``."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.checkout import Checkout

TEXT = """\
registry = "registry.test/team"
index-url = "https://index.test/simple"

[mirrors]
"docker.io" = ["mirror.test"]
"""


@pytest.fixture
def made(checkout: Checkout) -> Checkout:
    (checkout.root / "cannery.toml").write_text(TEXT, encoding="utf-8")
    return checkout


def test_each_value_has_its_origin(made: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANNERY_INDEX_URL", "https://me:hunter2@index.test/simple")
    shown = made.run("config")
    shown.accepted()
    rows = [re.split("  +", line) for line in shown.out.splitlines()]
    assert ["registry", "registry.test/team", "cannery.toml:1"] in rows
    assert ["index-url", "https://****@index.test/simple", "CANNERY_INDEX_URL"] in rows
    assert ["jobs", "1", "default"] in rows
    assert ["mirrors", "docker.io: mirror.test", "cannery.toml:4"] in rows


def test_as_json(made: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANNERY_JOBS", "3")
    monkeypatch.setenv("CANNERY_REGISTRI", "x")
    shown = made.run("config", "--json")
    document = json.loads(shown.out)
    rows = {row["key"]: row for row in document["settings"]}
    assert rows["jobs"] == {
        "key": "jobs",
        "value": 3,
        "from": "variable",
        "file": "",
        "line": 0,
        "option": "--jobs",
        "variable": "CANNERY_JOBS",
    }
    assert (rows["registry"]["file"], rows["registry"]["line"]) == ("cannery.toml", 1)
    assert rows["mirrors"]["value"] == {"docker.io": ["mirror.test"]}
    assert document["unknown"] == ["the variable CANNERY_REGISTRI has no meaning."]
    assert "Did you mean 'CANNERY_REGISTRY'?" in shown.err


def test_mistakes_are_named_with_their_lines(made: Checkout) -> None:
    (made.root / "cannery.toml").write_text("jobs = 0\njob = 1\n", encoding="utf-8")
    made.run("config").refused(3, "cannery.toml:1:1: jobs: invalid number", "toml:2:1: unknown key")
