# SPDX-License-Identifier: Apache-2.0
"""``build.py catalog``: the table and the page, and what is wrong with their input."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.catalog.readme import MARKERS
from cannery.common.files import write_files
from cannery.matrix.project import Project
from cannery.registry.records import path_of, to_text
from tests.cli.checkout import Checkout
from tests.unit.catalogues import release

START, END = MARKERS

TARGET = "py39-torch231-cann8t39"
MEND = "the table in docs/targets.md is out of date. Run: python build.py catalog"


def readme(checkout: Checkout) -> str:
    return (checkout.root / "docs/targets.md").read_text(encoding="utf-8")


def page(checkout: Checkout) -> Path:
    return checkout.root / ".cannery" / "catalog" / "index.html"


def publish(checkout: Checkout, name: str = TARGET) -> str:
    """Leave the record of a push, and return its digest."""
    pushed = release(Project(root=checkout.root).matrix().targets[name])
    write_files({path_of(checkout.root / "releases", pushed): to_text(pushed)})
    return pushed.digest


def test_table_and_page_are_made_and_stay_as_they_are(checkout: Checkout) -> None:
    checkout.run("catalog").accepted(f"wrote {page(checkout)}")
    text, html = readme(checkout), page(checkout).read_bytes()
    ids = [*Project(root=checkout.root).matrix().targets]
    rows = text.partition(START)[2].partition(END)[0].split("\n| `")[1:]
    told = [name for row in rows for name in row.partition("` |")[0].split("`<br>`")]
    assert sorted(told) == sorted(ids)
    assert all(f'<th scope="row">{name}</th>'.encode() in html for name in ids)
    result = checkout.run("catalog", cwd=Path("/"))
    result.accepted(f"wrote {page(checkout)}")
    assert "README" not in result.err
    assert (readme(checkout), page(checkout).read_bytes()) == (text, html)
    checkout.run("catalog", "--check").accepted(
        f"the table in docs/targets.md is in sync ({len(ids)} images)"
    )


def test_what_is_around_the_table_is_left_alone(checkout: Checkout) -> None:
    before = readme(checkout)
    checkout.edit("| `py39-torch231-cann8t39` |", "| `something-else` |", "docs/targets.md")
    checkout.edit(f"\n{START}\n", f"\nOur own words.\r\n\n{START}\n", "docs/targets.md")
    checkout.run("catalog").accepted("wrote")
    assert (checkout.root / "docs/targets.md").read_bytes() == (
        before.replace(f"\n{START}\n", f"\nOur own words.\r\n\n{START}\n", 1).encode()
    )


def test_a_release_shows_in_both(checkout: Checkout) -> None:
    digest = publish(checkout)
    before = checkout.state()
    result = checkout.run("catalog", "--check")
    result.refused(4, "--- docs/targets.md\n+++ docs/targets.md (generated)\n", MEND)
    assert "<br>`registry.example.com/ascend:" in result.messages[0]
    assert result.messages[0].count(f"`registry.example.com/ascend:{TARGET}-") == 1
    assert checkout.state() == before
    checkout.run("catalog").accepted()
    assert f"`registry.example.com/ascend:{TARGET}-0123456789ab`" in readme(checkout)
    assert f"docker pull --platform linux/arm64 registry.example.com/ascend@{digest}" in (
        page(checkout).read_text(encoding="utf-8")
    )
    checkout.run("catalog", "--check").accepted()


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


def test_no_page(checkout: Checkout) -> None:
    (checkout.root / "docs/targets.md").unlink()
    checkout.run("catalog").refused(9, "README.md: no such file")
    assert not page(checkout).exists()


def test_a_folder_that_cannot_be_made_changes_nothing(checkout: Checkout, tmp_path: Path) -> None:
    checkout.edit(END, f"| stale |\n{END}", "docs/targets.md")
    (tmp_path / "file").touch()
    before = checkout.state()
    checkout.run("catalog", "--out", str(tmp_path / "file" / "site")).refused(9, "cannot write")
    assert checkout.state() == before


def test_a_record_that_is_none(checkout: Checkout) -> None:
    publish(checkout)
    [path] = (checkout.root / "releases").glob("*/*.json")
    path.write_text("{}", encoding="utf-8")
    before = checkout.state()
    checkout.run("catalog").refused(9, f"{path} is not a valid record of a push")
    assert checkout.state() == before


def test_a_trial_of_a_target_that_is_none(checkout: Checkout) -> None:
    trial = "trials: {py39-torch231-cann8t93: {title: 910b, url: https://t.example.com/1}}"
    checkout.edit("trials: {}", trial, "publish.yaml")
    checkout.run("catalog").refused(3, f"Did you mean {TARGET!r}?")
    checkout.edit("cann8t93", "cann8t39", "publish.yaml")
    checkout.run("catalog").accepted()
    assert "<br>[910b](https://t.example.com/1) |" in readme(checkout)
    assert '"title": "910b", "url": "https://t.example.com/1"' in (
        page(checkout).read_text(encoding="utf-8")
    )


def test_a_record_that_was_edited_is_refused(checkout: Checkout) -> None:
    path = checkout.root / "releases" / TARGET / "old.json"
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")
    checkout.run("catalog").refused(9, "is not a valid record of a push")
