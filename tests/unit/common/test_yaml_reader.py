# SPDX-License-Identifier: Apache-2.0
"""What a Section hands out, and that a slip is reported once however often it is met."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import MatrixError
from cannery.common.yaml_reader import Section, read_yaml


def read(folder: Path, text: str, *keys: str) -> dict[str, str]:
    """The texts under ``keys``, which are all that the file may hold."""
    path = folder / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml(path, "file.yaml", lambda top: {key: top.text(key) for key in keys})


@pytest.mark.parametrize("text", ["3.10", "010", "1e3", "0x10", "2026-08-04", "1_000"])
def test_a_scalar_is_the_text_that_was_written(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, f"key: {text}\n", "key") == {"key": text}


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("yes", True), ("off", False), ("false", False)]
)
def test_a_flag(tmp_path: Path, text: str, value: bool) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(f"key: {text}\n", encoding="utf-8")
    assert read_yaml(path, "file.yaml", lambda top: top.flag("key")) is value


def test_a_flag_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("key: 'true'\n", encoding="utf-8")
    with pytest.raises(MatrixError, match=r"file.yaml:1:6: 'key' in .* must be true or false"):
        read_yaml(path, "file.yaml", lambda top: top.flag("key"))


SPACE = "begins or ends with a space or a line break. Remove it."


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "a space before": ('key: " 1.0"', f"file.yaml:1:6: 'key' in file.yaml {SPACE}"),
        "a tab after": ('key: "1.0\\t"', f"file.yaml:1:6: 'key' in file.yaml {SPACE}"),
        "a line break": ("key: |\n  1.0\n", f"file.yaml:1:6: 'key' in file.yaml {SPACE}"),
        "a space in a key": ('"key ": 1', f"file.yaml:1:1: the key 'key ' in file.yaml {SPACE}"),
        "a tag": ("key: !x 1", "file.yaml:1:6: the tag '!x' has no meaning here. Remove it."),
        "nothing": ("", "file.yaml:1:1: the file is empty."),
        "a control character": (
            "key: 中\n  a\x07b",
            "file.yaml:2:4: the character U+0007 cannot be in a YAML file. Remove it.",
        ),
    }.values(),
)
def test_what_nobody_sees_is_refused_where_it_is(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MatrixError) as caught:
        read(tmp_path, text, "key")
    assert str(caught.value).splitlines()[0] == said


def test_bytes_that_are_not_text_are_refused_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes("key: 中\n# é".encode() + b"\xff")
    with pytest.raises(MatrixError) as caught:
        read_yaml(path, "file.yaml", lambda top: top.text("key"))
    said = "file.yaml:2:4: this is not UTF-8 text: invalid start byte. Save the file as UTF-8."
    assert str(caught.value) == said


def test_an_item_of_a_list_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("key: [a, b, a]\n", encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        read_yaml(path, "file.yaml", lambda top: top.texts("key"))
    said = "file.yaml:1:13: 'a' is twice in 'key' of file.yaml. Keep one of them."
    assert str(caught.value) == said


def test_a_list_that_needs_a_value_is_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("key: []\n", encoding="utf-8")
    with pytest.raises(MatrixError) as caught:
        read_yaml(path, "file.yaml", lambda top: top.text_or_texts("key"))
    assert str(caught.value) == "file.yaml:1:6: 'key' in file.yaml is empty. Write a value."


def test_a_misspelt_key_hides_no_other_one_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MatrixError) as caught:
        read(tmp_path, "sumary: a\n", "summary", "platform")
    assert [problem.what for problem in caught.value.problems] == [
        "unknown key 'sumary' in file.yaml.",
        "file.yaml has no 'platform'.",
    ]


def test_a_mapping_that_is_used_twice_is_wrong_once(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("one: &it {key: []}\ntwo: *it\n", encoding="utf-8")

    def parse(top: Section) -> list[str]:
        return [each.text("key") for _, each in top.sections()]

    with pytest.raises(MatrixError) as caught:
        read_yaml(path, "file.yaml", parse)
    places = {str(problem.where) for problem in caught.value.problems}
    assert places == {"file.yaml:1:16"}
