# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from cannery.common.console import columns, fold, size_text


def test_cells_are_aligned_and_no_line_ends_in_spaces() -> None:
    rows = [("name", "count", ""), ("a longer one", "7", "note")]
    assert columns(rows, right={1}) == ["name          count", "a longer one      7  note"]
    assert columns(rows) == ["name          count", "a longer one  7      note"]
    assert columns([]) == []


def test_a_long_line_goes_on_indented() -> None:
    assert fold(["  1  a-name (one two three)"], 16) == ["  1  a-name (one", "      two three)"]
    assert fold(["a-word-that-is-longer than it"], 8) == [
        "a-word-that-is-longer",
        "    than",
        "    it",
    ]


def test_nothing_is_folded_without_a_width() -> None:
    lines = ["  " + "word " * 100 + "end", "", "x"]
    assert fold(lines, 0) == lines


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (123_456, "123 kB"),
        (31_000_000, "31.0 MB"),
        (999_999_999, "1000 MB"),
        (3_141_592_653, "3.1 GB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text
