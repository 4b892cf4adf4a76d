# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.common.console import columns, fold, size_text


def test_cells_are_aligned_and_no_line_ends_in_spaces() -> None:
    rows = [("name", "count", ""), ("a longer one", "7", "note")]
    assert columns(rows, right={1}) == ["name          count", "a longer one      7  note"]
    assert columns(rows) == ["name          count", "a longer one  7      note"]
    assert columns([]) == []


def test_rows_of_different_lengths_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="shorter"):
        columns([("a", "b"), ("a",)])


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


@given(st.text("ab -\t\n\u00a0ü", max_size=60), st.integers(min_value=0, max_value=80))
def test_a_line_that_fits_is_as_textwrap_has_it(line: str, width: int) -> None:
    lines = textwrap.wrap(
        line,
        width or len(line) + 1,
        subsequent_indent=" " * (len(line) - len(line.lstrip()) + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )
    assert fold([line], width) == (lines or [""])


@given(st.lists(st.text("ab -", max_size=60)), st.integers(min_value=1, max_value=50))
def test_no_word_is_lost(lines: list[str], width: int) -> None:
    folded = fold(lines, width)
    assert " ".join(folded).split() == " ".join(lines).split()
    assert all(len(each) <= width or len(each.split()) == 1 for each in folded)


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
