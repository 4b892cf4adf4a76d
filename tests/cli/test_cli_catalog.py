# SPDX-License-Identifier: Apache-2.0
"""``build.py catalog``: the table in README.md and the page, and what is wrong with their input."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.catalog.readme import END, START
from cannery.files import write_files
from cannery.matrix.project import Project
from cannery.publish.records import path_of, to_text
from tests.cli.checkout import Checkout
from tests.unit.catalogues import release

TARGET = "py39-torch231-cann8t39"
MEND = "the table in README.md is out of date. Run: python build.py catalog"


@pytest.fixture
def made(checkout: Checkout) -> Checkout:
    """A checkout whose README.md is in sync."""
    checkout.run("catalog").accepted()
    return checkout


def readme(checkout: Checkout) -> str:
    return (checkout.root / "README.md").read_text(encoding="utf-8")


def page(checkout: Checkout) -> Path:
    return checkout.root / ".cannery" / "catalog" / "index.html"


def publish(checkout: Checkout, name: str = TARGET) -> str:
    """Leave the record of a push, and return its digest."""
    record = release(Project(root=checkout.root).matrix().targets[name])
    write_files({path_of(checkout.root / "releases", record): to_text(record)})
    return record.digest


def test_table_and_page_are_made_and_stay_as_they_are(made: Checkout) -> None:
    text, html = readme(made), page(made).read_bytes()
    ids = [*Project(root=made.root).matrix().targets]
    rows = text.partition(START)[2].partition(END)[0].split("\n| `")[1:]
    assert [row.partition("`")[0] for row in rows] == ids
    assert all(f'<article class="card" id="{name}"'.encode() in html for name in ids)
    result = made.run("catalog", cwd=Path("/"))
    result.accepted(f"wrote {page(made)}")
    assert "README" not in result.err
    assert (readme(made), page(made).read_bytes()) == (text, html)
    made.run("catalog", "--check").accepted(
        f"the table in README.md is in sync ({len(ids)} images)"
    )


def test_what_is_around_the_table_is_left_alone(made: Checkout) -> None:
    before = readme(made)
    made.edit("| `py39-torch231-cann8t39` |", "| `something-else` |", "README.md")
    made.edit("## The matrix\n", "## The matrix of ours\r\n", "README.md")
    made.run("catalog").accepted("wrote")
    assert (made.root / "README.md").read_bytes() == (
        before.replace("## The matrix\n", "## The matrix of ours\r\n", 1).encode()
    )


def test_a_release_shows_in_both(made: Checkout) -> None:
    digest = publish(made)
    before = made.state()
    result = made.run("catalog", "--check")
    result.refused(4, "--- README.md\n+++ README.md (generated)\n", MEND)
    assert "<br>`registry.example.com/ascend:" in result.messages[0]
    assert result.messages[0].count("\n+") == 2  # the head of the diff, and a row
    assert made.state() == before
    made.run("catalog").accepted()
    assert f"`registry.example.com/ascend:{TARGET}-0123456789ab`" in readme(made)
    assert f"docker pull --platform linux/arm64 registry.example.com/ascend@{digest}" in (
        page(made).read_text(encoding="utf-8")
    )
    made.run("catalog", "--check").accepted()


def test_another_folder(checkout: Checkout, tmp_path: Path) -> None:
    checkout.run("catalog", "--out", str(tmp_path / "site" / "here")).accepted()
    assert (tmp_path / "site" / "here" / "index.html").is_file()
    assert not page(checkout).exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (START, "", ["there is no line <!-- catalogue -->"]),
        (END, f"{END}\n\n{END}", ["<!-- /catalogue --> is in line"]),
    ],
)
def test_nothing_is_written_without_the_markers(
    made: Checkout, old: str, new: str, said: list[str]
) -> None:
    made.edit(old, new, "README.md")
    page(made).unlink()
    before = made.state()
    for arguments in (["catalog"], ["catalog", "--check"]):
        result = made.run(*arguments)
        result.refused(3, *said)
        assert result.messages[0].startswith("README.md:")
    assert made.state() == before


def test_no_readme(checkout: Checkout) -> None:
    (checkout.root / "README.md").unlink()
    checkout.run("catalog").refused(9, "README.md: no such file")
    assert not page(checkout).exists()


def test_a_folder_that_cannot_be_made_changes_nothing(checkout: Checkout, tmp_path: Path) -> None:
    checkout.edit(END, f"| stale |\n{END}", "README.md")
    (tmp_path / "file").touch()
    before = checkout.state()
    checkout.run("catalog", "--out", str(tmp_path / "file" / "site")).refused(9, "cannot write")
    assert checkout.state() == before


def test_a_record_that_is_none(made: Checkout) -> None:
    publish(made)
    [path] = (made.root / "releases").glob("*/*.json")
    path.write_text("{}", encoding="utf-8")
    before = made.state()
    made.run("catalog").refused(9, f"{path} is not a valid record of a push")
    assert made.state() == before


def test_a_trial_of_a_target_that_is_none(made: Checkout) -> None:
    trial = "trials: {py39-torch231-cann8t93: {title: 910b, url: https://t.example.com/1}}"
    made.edit("trials: {}", trial, "publish.yaml")
    made.run("catalog").refused(3, f"Did you mean {TARGET!r}?")
    made.edit("cann8t93", "cann8t39", "publish.yaml")
    made.run("catalog").accepted()
    assert "<br>[910b](https://t.example.com/1) |" in readme(made)
    assert '<a href="https://t.example.com/1" rel="noreferrer">910b</a>' in (
        page(made).read_text(encoding="utf-8")
    )
