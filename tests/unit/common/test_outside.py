# SPDX-License-Identifier: Apache-2.0
"""Texts of others: every odd one is a ValueError, and none controls a terminal or a CI log."""

from __future__ import annotations

import json

import pytest

from cannery.common.outside import json_text, one_line, parse_json, parse_toml, printable


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 100_000, "[" * 65 + "]" * 65, '{"a":' * 65 + "1" + "}" * 65),
        *(
            "1e400",
            "-1e999",
            "NaN",
            "Infinity",
            "9" * 10_000,
            "9" * 400,
            "",
            "{",
            '"\\ud800',
            "\u0661",
        ),
    ],
    ids=lambda text: text[:9],
)
def test_odd_json(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_large_or_non_utf8_json_is_refused() -> None:
    assert parse_json(b"[1.5, 2]") == [1.5, 2]
    with pytest.raises(ValueError, match="more than 3 bytes"):
        parse_json(b"[  ]", most=3)
    with pytest.raises(ValueError, match="UTF-8"):
        parse_json(b'"\xff"')
    assert parse_json("[" * 64 + "]" * 64)


@pytest.mark.parametrize(
    "text",
    [
        *("a = " + "9" * 5000, "a = 0x" + "f" * 5000, "a = [1, 9223372036854775808]"),
        *("a = 1e400", "a = inf", "a = nan", "a = " + "[" * 100_000, "a = \u0661", "a", "[a]\n[a]"),
    ],
    ids=lambda text: text[:9],
)
def test_odd_toml(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_toml(text)


def test_printed_text_has_no_control_sequences() -> None:
    odd = "a\n::error::b\r\n  ::set-env x::y ##[group]\x1b[2J\x9b\u202e\u2028\ud800\ttab\x00é"
    assert one_line(odd).isprintable()
    assert one_line(odd).endswith("\\ttab\\x00é")
    text = printable(odd)
    assert all(line.replace("\t", "").isprintable() for line in text.split("\n"))
    assert not any(line.lstrip().startswith("::") for line in text.split("\n"))
    assert "##[" not in text
    assert "##[" not in one_line(odd)
    assert not one_line("::error::x").startswith("::")
    assert printable("std::vector\n- a::b\n") == "std::vector\n- a::b\n"
    assert one_line("plain text, 中文") == "plain text, 中文"


def test_printed_json_has_no_control_characters_and_equal_content() -> None:
    document = {"a\x9b": ["\u202e", "\u2028\x7f\x1b", "\U000e0001", "中文\u3000é", 1.5, None]}
    text = json_text(document)
    assert json.loads(text) == document
    assert all(line.replace("\u3000", "").isprintable() for line in text.split("\n"))
    assert "中文\u3000é" in text
