# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.common.option import Shard, matching, number, parse_shard, parse_size, size


@pytest.mark.parametrize(("text", "found"), [("1", 1), ("12", 12), ("007", 7)])
def test_a_number(text: str, found: int) -> None:
    assert number(1, 12)(text) == found


@pytest.mark.parametrize("text", ["", "0", "13", "-1", "1.0", "many", "²", "1 ", "1_0", "+1"])
def test_no_number(text: str) -> None:
    with pytest.raises(ValueError, match=r"^invalid number '.*'\. Use a number from 1 to 12\.$"):
        number(1, 12)(text)


def test_a_text_of_a_form() -> None:
    read = matching(r"\d+\.\d+", "version", "2.7")
    assert read("3.10") == "3.10"
    with pytest.raises(ValueError, match=r"^invalid version '3'\. Write it as in 2\.7\.$"):
        read("3")


@pytest.mark.parametrize("text", ["1/1", "1/3", "3/3", "12/12"])
def test_a_shard(text: str) -> None:
    found = parse_shard(text)
    assert str(found) == text
    assert found == Shard(*map(int, text.split("/")))


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "1/", "/3", "0/3", "4/3", "-1/3", "1/0", "0/0", "1/3/5", "a/b", "1 / 3"),
        *("1.5/3", "²/3", "1/3\n"),
    ],
)
def test_no_shard(text: str) -> None:
    with pytest.raises(ValueError, match="invalid shard"):
        parse_shard(text)


@pytest.mark.parametrize(
    ("text", "number", "unit", "count"),
    [("16g", 16, "g", 2**34), ("512M", 512, "m", 2**29), ("1k", 1, "k", 1024), ("8", 8, "", 8)],
)
def test_a_size(text: str, number: int, unit: str, count: int) -> None:
    found = parse_size(text)
    assert (found.number, found.unit, found.bytes) == (number, unit, count)
    assert size(text) == text


@pytest.mark.parametrize("text", ["", "0g", "lots", "16x", "16gb", "-1g", "1.5g", "²g"])
def test_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"^invalid size '.*'\. Write it as in 16g or 512m\.$"):
        size(text)
