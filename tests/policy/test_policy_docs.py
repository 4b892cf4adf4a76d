# SPDX-License-Identifier: Apache-2.0
"""Links lead somewhere, and the pages of the builder stay few and short."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

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


def test_dead_links_are_found() -> None:
    text = "[a](docs/none.md) [b](#none) [c](docs/matrix.md#none) [d](docs/matrix.md#targets)"
    assert dead_links(Path("README.md"), text) == ["docs/none.md", "#none", "docs/matrix.md#none"]


def test_the_pages_are_few_and_the_first_one_is_short() -> None:
    assert len(_text(Path("README.md")).splitlines()) <= 120
    assert len([page for page in PAGES if page.parent == Path("docs")]) <= 15
