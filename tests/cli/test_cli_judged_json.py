# SPDX-License-Identifier: Apache-2.0
"""``check`` and ``explain`` for programs: the fields that docs/reference.md names, always."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cannery.compat import Verdict
from tests.cli.checkout import Checkout, Result

TARGET = "py39-torch231-cann8t39"
COMMANDS = [["check", "--target"], ["explain"]]
ROOT = Path(__file__).resolve().parents[2]


def loaded(result: Result) -> Any:
    return json.loads(result.out)


@pytest.mark.parametrize("command", COMMANDS)
def test_conflicts_have_their_place(checkout: Checkout, command: list[str]) -> None:
    place = checkout.place("torch_npu: 2.1.0.post6")
    checkout.edit("torch_npu: 2.1.0.post6", "torch_npu: 2.3.1.post2")
    result = checkout.run(*command, TARGET, "--format", "json")
    assert result.code == 3
    found = loaded(result)
    assert "targets" not in found
    assert [
        f"{each['file']}:{each['line']}:{each['column']}: {each['what']} {each['fix']}".strip()
        for each in found["errors"]
    ] == result.messages
    assert found["errors"]
    line = int(place.split(":")[1])
    assert line in [each["line"] for each in found["errors"]]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("text", "words", "code"), [("[", [TARGET], 3), (None, ["py37"], 2)])
def test_every_failure_is_a_document(
    checkout: Checkout, command: list[str], text: str | None, words: list[str], code: int
) -> None:
    if text is not None:
        (checkout.root / "matrix.yaml").write_text(text, encoding="utf-8")
    result = checkout.run(*command, *words, "--format", "json")
    assert result.code == code
    found = loaded(result)
    assert "targets" not in found
    assert len(found["errors"]) == len(result.messages)
    if code == 2:
        [problem] = found["errors"]
        assert problem["what"] == "there is no target 'py37'."
        assert (problem["file"], problem["line"], problem["column"]) == ("", 0, 0)


def shape(value: Any) -> Any:
    """The fields of a document, and of everything in it."""
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items() if key != "components"}
    return type(value)


def test_the_documentation_has_these_fields(original: Checkout) -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^    \{\n(?:    .*\n)+", text, re.MULTILINE)
    documented = json.loads(block)
    found = loaded(original.run("explain", TARGET, "--format", "json"))
    [finding] = [e for e in found["targets"][0]["findings"] if e["component"] == "torch_npu"]
    found["targets"][0]["findings"] = [finding]
    assert shape(documented) == shape(found)
    assert {f"`{verdict}`" for verdict in Verdict} <= {*re.findall(r"`\w+`", text)} | {
        "`forbidden`"
    }
