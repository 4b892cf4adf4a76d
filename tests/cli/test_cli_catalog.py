# SPDX-License-Identifier: Apache-2.0
"""``build.py catalog``: the table, and what is wrong with its input."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.files import write_files
from cannery.matrix.project import Project
from cannery.publish.catalog import MARKERS
from cannery.registry.records import path_of, to_text
from tests.cli.checkout import Checkout
from tests.unit.catalogues import release

START, END = MARKERS

TARGET = "py39-torch231-cann8t39"
MEND = "the table in docs/targets.md is out of date. Run: python build.py catalog"


def readme(checkout: Checkout) -> str:
    return (checkout.root / "docs/targets.md").read_text(encoding="utf-8")


def publish(checkout: Checkout) -> None:
    """Leave the record of a push."""
    pushed = release(Project(root=checkout.root).matrix().targets[TARGET])
    write_files({path_of(checkout.root / "releases", pushed): to_text(pushed)})


def test_the_table_is_made_and_stays_as_it_is(checkout: Checkout) -> None:
    checkout.edit(END, f"| stale |\n{END}", "docs/targets.md")
    checkout.run("catalog").accepted("the table in docs/targets.md is written")
    text = readme(checkout)
    ids = [*Project(root=checkout.root).matrix().targets]
    rows = text.partition(START)[2].partition(END)[0].split("\n| `")[1:]
    told = [name for row in rows for name in row.partition("` |")[0].split("`<br>`")]
    assert sorted(told) == sorted(ids)
    checkout.run("catalog", cwd=Path("/")).accepted("was in sync already")
    assert readme(checkout) == text
    checkout.run("catalog", "--check").accepted("the table in docs/targets.md is in sync")


def test_text_around_the_table_is_kept(checkout: Checkout) -> None:
    before = readme(checkout)
    checkout.edit(f"| `{TARGET}` |", "| `something-else` |", "docs/targets.md")
    checkout.edit(f"\n{START}\n", f"\nOur own words.\r\n\n{START}\n", "docs/targets.md")
    checkout.run("catalog").accepted("is written")
    written = (checkout.root / "docs/targets.md").read_bytes().decode()
    assert written == before.replace(f"\n{START}\n", f"\nOur own words.\r\n\n{START}\n", 1)


def test_a_release_shows_in_the_table(checkout: Checkout) -> None:
    publish(checkout)
    before = checkout.state()
    result = checkout.run("catalog", "--check")
    result.refused(4, "--- docs/targets.md\n+++ docs/targets.md (generated)\n", MEND)
    assert "<br>`registry.example.com/ascend:" in result.messages[0]
    assert result.messages[0].count(f"`registry.example.com/ascend:{TARGET}-") == 1
    assert checkout.state() == before
    checkout.run("catalog").accepted()
    assert f"`registry.example.com/ascend:{TARGET}-0123456789ab`" in readme(checkout)
    checkout.run("catalog", "--check").accepted()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (START, "", ["there is no line <!-- catalogue -->"]),
        (END, f"{END}\n\n{END}", ["<!-- /catalogue --> is in line"]),
    ],
)
def test_nothing_is_written_without_the_markers(
    checkout: Checkout, old: str, new: str, said: list[str]
) -> None:
    checkout.edit(old, new, "docs/targets.md")
    before = checkout.state()
    for arguments in (["catalog"], ["catalog", "--check"]):
        result = checkout.run(*arguments)
        result.refused(3, *said)
        assert result.messages[0].startswith("docs/targets.md:")
    assert checkout.state() == before


def test_without_a_page_the_table_is_in_the_readme(checkout: Checkout) -> None:
    (checkout.root / "docs/targets.md").rename(checkout.root / "README.md")
    checkout.edit(END, f"| stale |\n{END}", "README.md")
    checkout.run("catalog", "--check").refused(4, "--- README.md", "README.md is out of date")


def test_an_invalid_record_is_refused(checkout: Checkout) -> None:
    publish(checkout)
    [path] = (checkout.root / "releases").glob("*/*.json")
    path.write_text("{}", encoding="utf-8")
    before = checkout.state()
    checkout.run("catalog").refused(9, f"{path} is not a valid record of a push")
    assert checkout.state() == before


def test_a_trial_of_an_unknown_target_is_refused(checkout: Checkout) -> None:
    trial = "trials: {py39-torch231-cann8t93: {title: 910b, url: https://t.example.com/1}}"
    checkout.edit("trials: {}", trial, "publish.yaml")
    checkout.run("catalog").refused(3, f"Did you mean {TARGET!r}?")
    checkout.edit("cann8t93", "cann8t39", "publish.yaml")
    checkout.run("catalog").accepted()
    assert "<br>[910b](https://t.example.com/1) |" in readme(checkout)
