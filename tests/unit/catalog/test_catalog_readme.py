# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cannery.catalog.readme import END, START, inserted, table
from cannery.errors import MatrixError
from cannery.publish.policy import Trial
from tests.unit.catalogues import BARE, NPU, SIMULATED, entry, release
from tests.unit.matrices import Checkout
from tests.unit.publications import sha

NOTE = "`python build.py --target TARGET` builds what is not published yet."


def cells(text: str) -> list[str]:
    """The cells of the table's first row."""
    return [cell.strip() for cell in text.splitlines()[2].strip("|").split(" | ")]


def test_what_is_not_published_says_so(checkout: Checkout) -> None:
    text = table([entry(checkout)])
    environment, image, trial, verified = cells(text)
    assert environment == (
        "`full`<br>Python 3.9.2, torch 2.3.1, torch_npu 2.3.1.post2, CANN 8.0.RC2"
        "<br>apex 0.1+ascend, deepspeed 0.15.0<br>910B, linux/arm64"
    )
    assert (image, verified) == ("not published yet", "nothing yet")
    assert trial == "[910b arm 1gpu](https://train.example.com/trials/7)"
    assert text.endswith(f"\n{NOTE}\n")


def test_a_release_has_tag_and_digest(checkout: Checkout) -> None:
    text = table([entry(checkout, release(checkout.matrix.targets["full"]))])
    _, image, _, verified = cells(text)
    tag = "registry.example.com/ascend:full-0123456789ab"
    assert image == f"`{tag}`<br>`{sha('1')}`"
    assert verified == "NPU: Atlas 800T A2, 910B3<br>2026-11-21"
    assert NOTE not in text


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ((), "nothing yet"),
        ((BARE,), "container without a device only<br>2026-11-21"),
        ((SIMULATED, BARE), "simulated device only<br>2026-11-21"),
        (
            (replace(SIMULATED, failed=2), NPU),
            "**failed** on simulated: 2 of 42 checks<br>2026-11-21",
        ),
    ],
)
def test_on_what_it_was_verified(checkout: Checkout, results: object, said: str) -> None:
    record = release(checkout.matrix.targets["full"], verified=results)
    assert cells(table([entry(checkout, record)]))[3] == said


def test_a_simulated_image_is_told_by_its_row(checkout: Checkout) -> None:
    record = release(checkout.matrix.targets["full"], simulated=True, verified=(SIMULATED,))
    assert cells(table([entry(checkout, record)]))[1].endswith("<br>simulated: no CANN")


def test_values_cannot_break_the_table_or_become_markup(checkout: Checkout) -> None:
    trial = Trial(title="a|b](x) <b>*c*\n`d`&lt;", url="https://e.example.com/a(b)|c d?x=1&y=%20")
    found = replace(entry(checkout), trial=trial)
    row = table([found]).splitlines()[2]
    said = r"[a\|b\](x) \<b\>\*c\* \`d\`&amp;lt;](https://e.example.com/a%28b%29%7Cc%20d?x=1&y=%20)"
    assert said in row
    assert len(table([found]).splitlines()) == len(table([entry(checkout)]).splitlines())


BEFORE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=60)


@given(BEFORE, BEFORE, BEFORE)
def test_nothing_outside_of_the_markers_changes(before: str, middle: str, after: str) -> None:
    for text in (before, middle, after):
        if any(line.strip() in (START, END) for line in text.splitlines()):
            return
    text = f"{before}\n{START}\n{middle}\n{END}\n{after}"
    once = inserted(text, "| new |\n", "README.md")
    assert once == f"{before}\n{START}\n\n| new |\n\n{END}\n{after}"
    assert inserted(once, "| new |\n", "README.md") == once


def test_line_ends_stay_as_they_are() -> None:
    text = f"a\r\n{START}\r\nold\r\n{END}\r\nb\r\n"
    assert inserted(text, "new\n", "README.md") == (
        f"a\r\n{START}\r\n\r\nnew\r\n\r\n{END}\r\nb\r\n"
    )


FIX = f"The table goes between one line {START} and, after it, one line {END}."


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], [f"1:1: there is no line {START}.", f"1:1: there is no line {END}."]),
        (["a", START, "b"], [f"3:1: there is no line {END}."]),
        (["a", "b", END], [f"3:1: there is no line {START}."]),
        ([END, START], [f"1:1: {END} comes before {START}."]),
        ([START, START, END], [f"2:1: {START} is in line 1 already."]),
        (
            [START, END, "x", START, END],
            [f"4:1: {START} is in line 1 already.", f"5:1: {END} is in line 2 already."],
        ),
    ],
)
def test_markers_that_are_missing_or_doubled(lines: list[str], said: list[str]) -> None:
    with pytest.raises(MatrixError) as caught:
        inserted("".join(f"{line}\n" for line in lines), "new\n", "README.md")
    assert [str(each) for each in caught.value.problems] == [f"README.md:{s} {FIX}" for s in said]


def test_a_marker_within_a_line_is_none() -> None:
    text = f"Between `{START}` and `{END}`:\n{START}\n{END}\n"
    assert inserted(text, "new\n", "README.md").startswith(text[: text.index("\n") + 1])
