# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

import pytest

from cannery.catalog.commands import commands
from cannery.catalog.entries import Entry, entries, gather
from cannery.catalog.page import page
from cannery.common.cann_version import CannVersion
from cannery.compat import Finding, Verdict
from cannery.compat.facts import Driver, Kind, Source
from cannery.matrix.project import Project
from cannery.publish.policy import Trial
from tests.unit.catalogues import BARE, NPU, SIMULATED, key_of, known, release, verify
from tests.unit.matrices import CHECKOUT, Checkout
from tests.unit.publications import sha

BAD = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}"
VOID = {"meta", "link", "input", "br", "path", "ellipse"}


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


def parsed(found: Sequence[Entry], origin: str = "") -> Page:
    texts = {each.id: [*commands(each)] for each in found}
    return Page(page(found, texts, origin=origin))


@pytest.fixture
def found(checkout: Checkout) -> tuple[Entry, ...]:
    releases = [release(checkout.matrix.targets["full"], verified=(BARE, SIMULATED, NPU))]
    return entries(checkout.matrix, known(checkout, releases))


def image(made: Page, name: str = "full") -> dict[str, Any]:
    found: dict[str, Any]
    [found] = [each for each in made.data["images"] if each["id"] == name]
    return found


def pooled(made: Page, numbers: list[int]) -> list[Any]:
    return [made.data["pool"][number] for number in numbers]


def test_without_scripts_every_image_is_there_with_its_first_command(
    found: tuple[Entry, ...],
) -> None:
    made = parsed(found)
    for each in found:
        assert each.id in made.shown
        assert commands(each)[0].text in made.shown


def test_what_refers_to_an_element_finds_it(found: tuple[Entry, ...]) -> None:
    made = parsed(found)
    ids = made.all("id")
    assert len({*ids}) == len(ids)
    for name in ("aria-labelledby", "aria-describedby", "for", "form"):
        named = {each for value in made.all(name) for each in value.split()}
        assert named
        assert named <= {*ids}
    assert {value[1:] for value in made.all("href") if value.startswith("#")} <= {*ids}


def test_nothing_is_loaded_and_nothing_runs_but_what_the_page_was_made_with(
    found: tuple[Entry, ...],
) -> None:
    made = parsed(found)
    assert made.all("src") == []
    assert made.all("style") == []
    assert [
        each for _, attributes in made.elements for each in attributes if each[:2] == "on"
    ] == []
    assert [value for value in made.all("href") if not value.startswith("#")] == ["data:,"]
    assert not re.search(r"url\(|@import|fetch\(|import\(|XMLHttp|innerHTML", made.text)
    [policy] = [a["content"] for _, a in made.elements if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    early, _, script = made.inner["script"]
    for text in (early, script, *made.inner["style"]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy.count(f"'sha256-{digest}'") == 1


@pytest.mark.parametrize(
    ("origin", "website"),
    [
        ("", ""),
        ("/srv/git/cannery", ""),
        ("https://user:secret@git.example.com/a/b.git", "https://git.example.com/a/b"),
        ("git@git.example.com:a/b.git", "https://git.example.com/a/b"),
    ],
)
def test_the_repository_is_linked_where_it_has_a_website(
    found: tuple[Entry, ...], origin: str, website: str
) -> None:
    made = parsed(found, origin)
    assert made.data["website"] == website
    links = [value for value in made.all("href") if value.startswith("https:")]
    assert links == ([website, f"{website}/blob/HEAD/README.md"] if website else [])
    assert "secret" not in made.text


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
    )
    matrix = replace(checkout.matrix, targets={"full": target})
    what = known(replace(checkout, matrix=matrix), [record])
    trials = {"full": Trial(title=BAD, url="https://e.example.com/?" + BAD)}
    what = replace(what, publishing=replace(what.publishing, trials=trials))
    made = parsed(entries(matrix, what))
    plain = parsed(entries(matrix, known(replace(checkout, matrix=matrix), [release(target)])))
    for tag in ("script", "img", "style"):
        count = sum(name == tag for name, _ in made.elements)
        assert count == sum(name == tag for name, _ in plain.elements)
    assert not any(name.startswith("on") for _, a in made.elements for name in a)
    assert BAD in "".join(made.shown)
    full = image(made)
    assert full["unverified"] == BAD
    assert f"{BAD} {BAD}" in pooled(made, full["release"]["packages"]["debian"])


def test_a_failure_is_shown_and_not_the_pass_beside_it(checkout: Checkout) -> None:
    record = release(checkout.matrix.targets["full"], verified=(NPU, replace(SIMULATED, failed=3)))
    full = image(parsed(entries(checkout.matrix, known(checkout, [record]))))
    assert [(each["where"], each["failed"]) for each in full["verdicts"]] == [("simulated", 3)]
    assert len(full["results"]) == 2


def test_simulated_images_and_older_states_are_told(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    held = {**target.components, "deepspeed": "0.14.3"}
    verify(checkout, BARE, SIMULATED, key=sha("1"))
    record = release(target, simulated=True, components=held, verified=())
    full = image(parsed(entries(checkout.matrix, known(checkout, [record]))))
    assert full["release"]["simulated"]
    assert full["release"]["outdated"] == ["deepspeed 0.14.3"]
    assert [(each["where"], each["basis"], each["moved"]) for each in full["results"]] == [
        ("none_simulated", "older", ["contents"]),
        ("simulated", "older", ["contents"]),
    ]


def test_an_image_has_its_driver_files_versions_and_sources(checkout: Checkout) -> None:
    target = checkout.matrix.targets["full"]
    source = Source(
        name="maker", rank=1, kind=Kind.MAKER, date="2026-08", cite="HDK", address="e.example/hdk"
    )
    row = Driver(
        line=7,
        sources=(source,),
        says="",
        cann=CannVersion.parse("8.0.RC2"),
        minimum="23.0",
        maximum="25.2",
        paired="",
    )
    finding = Finding(
        component="driver", verdict=Verdict.ALLOWED, text="25.", key="cann", rows=(row,)
    )
    what = known(checkout)
    what = replace(what, findings={**what.findings, "full": [finding]})
    made = parsed(entries(checkout.matrix, what))
    full = image(made)
    assert full["driver"] == ["23.0", "25.2", False]
    names = [name for name, *_ in pooled(made, full["files"])]
    assert names == [file.name for file in target.artifacts.values()]
    assert ["torch", target.torch] in full["components"]
    assert pooled(made, full["wheels"]) == ["numpy 1.26.4"]
    [said] = pooled(made, full["findings"])
    assert said == ["driver", "allowed", "25.", [[7, [["HDK, 2026-08", "e.example/hdk"]]]], []]


def test_orders_are_by_version_and_of_releases_by_size_and_date(
    checkout: Checkout, found: tuple[Entry, ...]
) -> None:
    full, bare = parsed(found).data["images"]
    assert full["places"] == {"torch": 0, "cann": 0, "size": 0, "pushed": 0}
    assert bare["places"] == {"torch": 1, "cann": 1, "size": 1, "pushed": 1}
    data = parsed(entries(checkout.matrix, known(checkout))).data
    assert data["sorts"] == ["best", "torch", "cann"]


def test_the_search_knows_purposes_and_machines(found: tuple[Entry, ...]) -> None:
    full = image(parsed(found))
    for word in ("full", "chip 910b", "aarch64", "train", "训练", "everything there is", sha("1")):
        assert word in full["words"]


def test_equal_input_makes_an_equal_page(found: tuple[Entry, ...]) -> None:
    assert parsed(found).text == parsed(found).text


def test_the_whole_matrix_is_a_small_page() -> None:
    project = Project(root=CHECKOUT)
    every = gather(project, key_of)
    made = parsed(every)
    assert len(made.text) * 100 / len(every) < 1_500_000
