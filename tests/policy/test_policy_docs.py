# SPDX-License-Identifier: Apache-2.0
"""Links lead somewhere, and the pages of the builder stay few and short."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from cannery.common.model import Layout
from cannery.matrix.project import Project
from tests.policy.test_policy_sources import ROOT, tracked

PAGES = [Path(name) for name in tracked(".md")]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@cache
def anchors(path: Path) -> set[str]:
    """The anchors that hosting sites give to the headings of a page."""
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+)$", _FENCE.sub("", _text(path)), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return {*found}


def _text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def dead_links(page: Path, text: str) -> list[str]:
    found = []
    for target in _LINK.findall(_FENCE.sub("", text)):
        name, _, anchor = target.partition("#")
        if "://" in target:
            continue
        path = Path("/", page.parent, name).resolve().relative_to("/") if name else page
        if not (ROOT / path).exists() or (anchor and anchor not in anchors(path)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert dead_links(page, _text(page)) == []


def test_the_pages_are_few_and_the_first_one_is_short() -> None:
    assert len(_text(Path("README.md")).splitlines()) <= 120
    assert len([page for page in PAGES if page.parent == Path("docs")]) <= 16


@pytest.mark.parametrize(
    "page", ["README.md", "README.zh.md", "docs/choose.md", "docs/zh/choose.md"]
)
def test_the_recommended_targets_are_shown(project: Project, page: str) -> None:
    targets = project.matrix().targets.values()
    wanted = [each.id for each in targets if each.recommended]
    rows = [line for line in _text(Path(page)).splitlines() if line.startswith("| ")]
    assert re.findall(r"`(py[\w-]+)`", "\n".join(rows))[: len(wanted)] == wanted


CHINESE = {
    Path("README.zh.md"): Path("README.md"),
    Path("packages/ascend-doctor/README.zh.md"): Path("packages/ascend-doctor/README.md"),
    **{page: Path("docs", page.name) for page in PAGES if page.parent == Path("docs/zh")},
}
"""The pages in Chinese, and the English ones that say the same."""


def structure(text: str) -> dict[str, list[object]]:
    """What a translation keeps: commands without comments, names, headings, rows and columns."""
    prose = re.sub(r"^    .*$", "", _FENCE.sub("", text), flags=re.MULTILINE)
    rows = [line for line in prose.splitlines() if line.startswith("|")]
    return {
        "headings": [len(each) for each in re.findall(r"^(#+) ", prose, re.MULTILINE)],
        "blocks": [
            re.sub(r"\s+# .*$", "", block, flags=re.MULTILINE)
            for block in (
                *re.findall(r"^    .+$", _FENCE.sub("", text), re.MULTILINE),
                *_FENCE.findall(text),
            )
        ],
        "rows": [(row.count(" | "), sorted({*re.findall(r"`[^`]+`", row)})) for row in rows],
        "names": sorted({*re.findall(r"`[^`]+`", prose.replace("\n", " "))}),
        "items": [line[:2] for line in prose.splitlines() if re.match(r"- ", line)],
    }


@pytest.mark.parametrize("page", CHINESE, ids=str)
def test_the_chinese_page_has_the_structure_of_the_english_one(page: Path) -> None:
    ours, english = structure(_text(page)), structure(_text(CHINESE[page]))
    for what, found in english.items():
        assert ours[what] == found, what


def test_the_tests_in_the_table_of_trust_exist() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|") and "::" in line]
    assert len(rows) == 14
    for file, test in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), (file, test)


def test_the_table_of_hashes_has_each_release_and_what_cannery_knows(project: Project) -> None:
    """Of releases before 8.5 one row has those with hashes, all of which are of zips."""
    text = _text(Path("docs/cann.md"))
    table = text.partition("| release | hashes by Huawei |")[2].partition("\n\n")[0]
    cells = (line.strip("| ").split(" | ") for line in table.splitlines()[2:])
    rows = {tuple(names.split(", ")): said for names, said in cells}
    for version, release in project.matrix().cann.items():
        files = [file for each in release.packages.values() for file in each.files]
        of_zips = any(file.zip for file in files)
        assert not any(file.hashes for file in files), version
        if release.layout is Layout.CANN:
            [said] = [said for names, said in rows.items() if version in names]
            assert ("ascend-deployer" in said) is of_zips
        else:
            assert (f" {version}" in rows[("6.3 to 8.3.RC2",)].replace(",", " ,")) is of_zips
