# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

import pytest

from cannery.catalog.commands import Command
from cannery.catalog.entries import Entry, entries
from cannery.catalog.page import page
from cannery.publish.policy import Trial
from tests.unit.catalogues import BARE, NPU, SIMULATED, known, release, verify
from tests.unit.matrices import Checkout
from tests.unit.publications import sha

BAD = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}"
VOID = {"meta", "link", "input", "br", "path", "rect", "ellipse"}


@dataclass
class Page(HTMLParser):
    """What is in a page: its elements with their attributes, and the text of each script."""

    text: str
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    inner: dict[str, list[str]] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.inner.setdefault(self.open[-1], []).append(data)
        else:
            self.shown.append(data)

    def all(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.inner["script"][1])
        return found


def parsed(checkout: Checkout, found: list[Entry]) -> Page:
    texts = {each.id: [Command(use="shell", text=f"run {each.id}", cards=8)] for each in found}
    for each in found:
        get = "pull" if each.record else "build"
        texts[each.id].append(Command(use=get, text=f"{get} {each.id}"))
    return Page(page(found, known(checkout).layers, texts))


@pytest.fixture
def found(checkout: Checkout) -> list[Entry]:
    releases = [release(checkout.matrix.targets["full"], verified=(BARE, SIMULATED, NPU))]
    return [*entries(checkout.matrix, known(checkout, releases))]


def test_every_image_is_there_without_any_script(checkout: Checkout, found: list[Entry]) -> None:
    made = parsed(checkout, found)
    ids = made.all("id")
    assert len({*ids}) == len(ids)
    assert {"full", "bare"} <= {*ids}
    assert made.all("data-id").count("full") == 2  # a card and a row of the table
    assert made.shown.count("run full") == 1
    assert "build bare" in made.shown


def test_what_refers_to_an_element_finds_it(checkout: Checkout, found: list[Entry]) -> None:
    made = parsed(checkout, found)
    ids = {*made.all("id")}
    for name in ("aria-labelledby", "aria-describedby", "for", "form"):
        named = {each for value in made.all(name) for each in value.split()}
        assert named
        assert named <= ids
    links = {value[1:] for value in made.all("href") if value.startswith("#")}
    assert links <= ids


def test_nothing_is_loaded_and_nothing_runs_but_what_the_page_was_made_with(
    checkout: Checkout, found: list[Entry]
) -> None:
    made = parsed(checkout, found)
    assert made.all("src") == []
    assert made.all("style") == []
    assert [
        each for _, attributes in made.elements for each in attributes if each[:2] == "on"
    ] == []
    out = [value for value in made.all("href") if not value.startswith("#")]
    assert out == ["data:,", *["https://train.example.com/trials/7"] * 2]
    assert not re.search(r"url\(|@import|fetch\(|import\(|XMLHttp", made.text)
    [policy] = [a["content"] for _, a in made.elements if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    early, _, script = made.inner["script"]
    for text in (early, script, *made.inner["style"]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy.count(f"'sha256-{digest}'") == 1


def test_no_value_becomes_markup_or_ends_the_data(checkout: Checkout) -> None:
    target = replace(checkout.matrix.targets["full"], summary=BAD, unverified=BAD)
    record = release(
        target,
        tags=(BAD,),
        components={**target.components, BAD: BAD},
        packages={"wheels": {BAD: BAD}, "debian": {BAD: BAD}, "vendor": {BAD: BAD}},
        verified=(replace(NPU, hardware=BAD),),
        pushed=BAD,
        commit=BAD,
        digest=BAD,
    )
    matrix = replace(checkout.matrix, targets={"full": target})
    what = known(replace(checkout, matrix=matrix), [record])
    trials = {"full": Trial(title=BAD, url="https://e.example.com/?" + BAD)}
    what = replace(what, publishing=replace(what.publishing, trials=trials))
    found = [*entries(matrix, what)]
    usual = [*entries(matrix, known(replace(checkout, matrix=matrix), [release(target)]))]
    made, plain = parsed(checkout, found), parsed(checkout, usual)
    for tag in ("script", "img", "style"):
        count = sum(name == tag for name, _ in made.elements)
        assert count == sum(name == tag for name, _ in plain.elements)
    assert not any(name.startswith("on") for _, a in made.elements for name in a)
    assert BAD in "".join(made.shown)
    [image] = made.data["images"]
    assert BAD.lower() in image["words"]


def test_a_simulated_result_is_never_called_one_of_an_npu(checkout: Checkout) -> None:
    record = release(checkout.matrix.targets["full"], verified=(BARE, SIMULATED), simulated=True)
    found = [*entries(checkout.matrix, known(checkout, [record]))]
    made = parsed(checkout, found)
    classes = [a["class"] for _, a in made.elements if "verdict" in a.get("class", "")]
    assert sorted({*classes}) == ["verdict nothing", "verdict simulated"]
    assert "the simulated device only" in made.shown
    assert any(text.startswith("A simulated image:") for text in made.shown)


def test_a_failure_is_shown_before_any_pass(checkout: Checkout) -> None:
    results = (NPU, replace(SIMULATED, failed=3))
    record = release(checkout.matrix.targets["full"], verified=results)
    made = parsed(checkout, [*entries(checkout.matrix, known(checkout, [record]))])
    classes = [a["class"] for _, a in made.elements if "verdict" in a.get("class", "")]
    assert classes.count("verdict failed") == 3  # the row, the card, and the table of results
    assert "verdict npu" not in classes


def test_a_recorded_result_says_that_it_is_older(checkout: Checkout) -> None:
    verify(checkout, BARE, SIMULATED, key=sha("1"))
    made = parsed(checkout, [*entries(checkout.matrix, known(checkout))])
    classes = [a["class"] for _, a in made.elements if "verdict" in a.get("class", "")]
    assert sorted({*classes}) == ["verdict nothing", "verdict simulated"]
    # The row, the card, and both rows of the results; each in two languages.
    assert made.shown.count("older than this state") == made.shown.count("早于当前状态") == 4
    assert "no device, simulated packages" in made.shown
    verify(checkout, BARE, SIMULATED)
    made = parsed(checkout, [*entries(checkout.matrix, known(checkout))])
    assert "older than this state" not in made.shown


def test_an_image_older_than_the_matrix_says_so(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    record = release(target, components={**target.components, "deepspeed": "0.14.3"})
    made = parsed(checkout, [*entries(checkout.matrix, known(checkout, [record]))])
    assert any("older than the matrix" in text for text in made.shown)
    assert "0.14.3" in "".join(made.shown)


def test_the_data_are_what_the_script_chooses_by(checkout: Checkout, found: list[Entry]) -> None:
    data = parsed(checkout, found).data
    assert data["facets"] == ["python", "torch", "cann", "chip", "application", "flavour"]
    full, bare = data["images"]
    assert full["facets"] == {
        "python": "3.9",
        "torch": "2.3.1",
        "cann": "8.0.RC2",
        "chip": "910b",
        "application": "none",
        "flavour": "devel",
    }
    for word in ("full", "everything there is", "cann 8.0.rc2", "libc6 2.31-13", "latest"):
        assert (word in full["words"]) == (word != "latest")
    assert full["places"] == {"matrix": 0, "torch": 0, "cann": 0, "size": 0, "pushed": 0}
    assert bare["places"] == {"matrix": 1, "torch": 1, "cann": 1, "size": 1, "pushed": 1}


def test_equal_input_makes_an_equal_page(checkout: Checkout, found: list[Entry]) -> None:
    assert parsed(checkout, found).text == parsed(checkout, found).text
