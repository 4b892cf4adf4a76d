# SPDX-License-Identifier: Apache-2.0
"""Files become models, and a mistake in a file is one message with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from packaging.specifiers import SpecifierSet
from pydantic import Field

from cannery.common.errors import CanneryError, FileError
from cannery.common.models import (
    Model,
    Parsed,
    SchemaVersion,
    Unique,
    json_schema,
    of_newer,
    parse_toml_as,
    parse_yaml,
    read_yaml,
    upgrade,
)
from cannery.common.specifiers import specifiers


class Row(Model):
    """A row."""

    kind: Literal["small", "large"]
    torch: Annotated[SpecifierSet, Parsed(specifiers)] | None = None
    packages: Unique[str] = ()
    beta: bool = False
    seconds: Annotated[int, Field(ge=0, le=300)] = 10


class File(Model):
    """A file."""

    schema_: Annotated[str, SchemaVersion(1)] = Field(default="1", alias="schema")
    text: str = ""
    rows: tuple[Row, ...] = ()
    named: dict[str, Row] = Field(default={})


def messages(text: str, read: Any = parse_yaml, kind: Any = File) -> list[str]:
    with pytest.raises(CanneryError) as caught:
        read(kind, text, "f.yaml")
    return str(caught.value).splitlines()


@pytest.mark.parametrize("text", ["3.10", "010", "1e3", "0x10", "2026-08-04", "1_000"])
def test_a_scalar_keeps_its_text_as_written(text: str) -> None:
    assert parse_yaml(File, f"text: {text}\n", "f.yaml").text == text


@pytest.mark.parametrize(("text", "value"), [("true", True), ("yes", True), ("off", False)])
def test_a_flag(text: str, value: bool) -> None:
    file = parse_yaml(File, f"rows: [{{kind: small, beta: {text}}}]", "f.yaml")
    assert file.rows[0].beta is value


def test_a_model_knows_its_place() -> None:
    file = parse_yaml(File, "rows:\n  - kind: small\n    beta: yes", "f.yaml")
    assert str(file.rows[0].place()) == "f.yaml:2:5"
    assert str(file.rows[0].place("beta")) == "f.yaml:3:11"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: the file is empty."),
        ("[]", "1:1: f.yaml must be a mapping of keys to values."),
        ("text: [", "2:1: this is not YAML: did not find expected node content."),
        ("text: !x 1", "1:7: the tag '!x' has no meaning here. Remove it."),
        ("text: 中\n  a\x07", "2:4: the character U+0007 cannot be in a YAML file. Remove it."),
        ("text: a\udc80", "1:8: this is not UTF-8 text."),
        ("text: ", "1:6: there is no value. Write one, or remove the key."),
        ("text: ' a'", "1:7: ' a' begins or ends with a space or a line break. Remove it."),
        ("text: ' '", "1:7: text: this is empty. Write a value."),
        ("text: {}", "1:7: text: this must be text, not a mapping."),
        ("text: on", "1:7: text: this must be text, not true or false."),
        ("? [a]\n: b", "1:3: a key must be plain text."),
        (
            "schema: 2",
            f"1:9: schema: {of_newer('2', 1)} {upgrade()}",
        ),
        ("schema: x", "1:9: schema: this version of cannery reads schema 1 only. Write 1."),
        ("text: a\ntext: b", "2:1: 'text' is given twice, first in line 1. Keep one of them."),
        ("tex: a", "1:1: unknown key 'tex'. Did you mean 'text'?"),
        ("rows: {}", "1:7: rows: this must be a list."),
        ("rows: [x]", "1:8: rows[0]: this must be a mapping of keys to values."),
        ("rows: [{}]", "1:8: rows[0] has no 'kind'. Add it."),
        ("rows: [{kind: smal}]", "1:15: rows[0].kind: there is no 'smal'. Did you mean 'small'?"),
        ("named: {x: {kin: small}}", "1:13: unknown key 'kin' in named.x. Did you mean 'kind'?"),
        (
            "rows: [{kind: small, packages: [a, b, a]}]",
            "1:39: rows[0].packages[2]: 'a' is there twice. Keep one of them.",
        ),
        (
            "rows: [{kind: small, torch: what}]",
            "1:29: rows[0].torch: Invalid specifier: 'what'.",
        ),
        ("rows: [{kind: small, seconds: x}]", "1:31: rows[0].seconds: 'x' is not a number."),
        (
            "rows: [{kind: small, seconds: 400}]",
            "1:31: rows[0].seconds: '400' should be less than or equal to 300.",
        ),
        ("rows: [{kind: small, beta: maybe}]", "1:28: rows[0].beta: this must be true or false."),
    ],
)
def test_a_mistake(text: str, expected: str) -> None:
    assert messages(text) == [f"f.yaml:{expected}"]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_nesting_that_would_end_the_process_is_a_mistake(opening: str) -> None:
    [said] = messages(opening * 40_000)
    assert said.startswith("f.yaml:1:")
    assert said.endswith(": this is not YAML: values are nested more than 100 deep.")


def test_all_mistakes_are_reported_in_the_order_of_the_file() -> None:
    text = "named: {x: {kind: small, a: b}}\ntext: []\nrows: [{kind: x}, {}]\n"
    assert [line.partition(": ")[0] for line in messages(text)] == [
        "f.yaml:1:26",
        "f.yaml:2:7",
        "f.yaml:3:15",
        "f.yaml:3:19",
    ]


def test_a_mistake_in_an_alias_is_reported_once() -> None:
    assert len(messages("rows: [&it {kind: x}, *it]")) == 2


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_yaml(File, tmp_path / "f.yaml")
    (tmp_path / "f.yaml").write_bytes("text: 中\n# é".encode() + b"\xff")
    with pytest.raises(CanneryError) as caught:
        read_yaml(File, tmp_path / "f.yaml")
    expected = "f.yaml:2:4: this is not UTF-8 text: invalid start byte. Save the file as UTF-8."
    assert str(caught.value) == expected


TOML = """\
# all of it
text = "a"
[named.x]
kind = "smal"
packages = [
  "a",
]
[[rows]]
kind = "small"
[[rows]]
knd = "small"
"""


def test_a_mistake_in_toml() -> None:
    assert messages(TOML, parse_toml_as) == [
        "f.yaml:4:1: named.x.kind: there is no 'smal'. Did you mean 'small'?",
        "f.yaml:11:1: unknown key 'knd' in rows[1]. Did you mean 'kind'?",
    ]
    assert messages("a = [", parse_toml_as) == ["f.yaml:1:6: the file is not TOML: invalid value."]
    assert messages('text = "a"\nb = ', parse_toml_as) == [
        "f.yaml:2:5: the file is not TOML: invalid value."
    ]


def test_the_schema_takes_numbers_for_texts_and_knows_no_other_key() -> None:
    schema = json_schema(File)
    assert schema["additionalProperties"] is False
    assert schema["properties"]["schema"] == {"const": 1}
    assert schema["properties"]["text"]["type"] == ["string", "number"]
    row = schema["$defs"]["Row"]
    assert row["required"] == ["kind"]
    assert row["properties"]["packages"]["uniqueItems"]
    assert row["properties"]["torch"]["type"] == ["string", "number"]
