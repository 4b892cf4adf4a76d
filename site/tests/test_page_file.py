# SPDX-License-Identifier: Apache-2.0
"""The HTML file, and the program that writes it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from make import main, page
from tests.samples import NPU, all_targets, published, result, some_targets, target

TARGETS = some_targets()
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


MADE = Page(page(TARGETS))


def test_without_scripts_every_image_is_there_with_its_first_command() -> None:
    for each in TARGETS:
        assert each["id"] in MADE.shown
        assert each["commands"][0]["text"] in MADE.shown


def test_every_reference_to_an_element_resolves() -> None:
    ids = MADE.all("id")
    assert len({*ids}) == len(ids)
    for name in ("aria-labelledby", "aria-describedby", "for", "form"):
        named = {each for value in MADE.all(name) for each in value.split()}
        assert named
        assert named <= {*ids}
    assert {value[1:] for value in MADE.all("href") if value.startswith("#")} <= {*ids}


def test_the_page_loads_nothing_and_runs_only_its_own_scripts() -> None:
    assert MADE.all("src") == []
    assert MADE.all("style") == []
    assert [
        name for _, attributes in MADE.elements for name in attributes if name[:2] == "on"
    ] == []
    assert [value for value in MADE.all("href") if not value.startswith("#")] == ["data:,"]
    assert not re.search(r"url\(|@import|fetch\(|import\(|XMLHttp|innerHTML", MADE.text)
    [policy] = [a["content"] for _, a in MADE.elements if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    early, _, script = MADE.inner["script"]
    for text in (early, script, *MADE.inner["style"]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy.count(f"'sha256-{digest}'") == 1


def test_no_value_becomes_markup_or_ends_the_data() -> None:
    bad = published(
        {**target(), "summary": BAD, "unverified": BAD},
        tags=[BAD],
        components={**target()["components"], BAD: BAD},
        packages={kind: {BAD: BAD} for kind in ("wheels", "debian", "vendor")},
        pushed=BAD,
        commit=BAD,
    )
    bad["results"] = bad["verdicts"] = [result({**NPU, "hardware": BAD})]
    bad["trial"] = {"title": BAD, "url": "https://e.example.com/?" + BAD}
    made, plain = Page(page([bad])), Page(page([published(target())]))
    for tag in ("script", "img", "style"):
        count = sum(name == tag for name, _ in made.elements)
        assert count == sum(name == tag for name, _ in plain.elements)
    assert not any(name.startswith("on") for _, a in made.elements for name in a)
    assert BAD in "".join(made.shown)
    [shown] = made.data["images"]
    assert shown["unverified"] == BAD
    packages = [made.data["pool"][number] for number in shown["release"]["packages"]["debian"]]
    assert packages == [f"{BAD} {BAD}"]


def test_the_whole_matrix_is_a_small_page() -> None:
    every = all_targets()
    assert len(page(every)) * 100 / len(every) < 1_500_000


# ---- the program


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "targets.json"
    path.write_text(json.dumps(TARGETS[:2]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("options", "website"),
    [
        ([], ""),
        (["--website", "https://git.example.com/a/b"], "https://git.example.com/a/b"),
        (["--website", "https://git.example.com/a/b.git"], "https://git.example.com/a/b"),
    ],
)
def test_the_repository_is_linked_where_it_has_a_website(
    listed: Path, tmp_path: Path, options: list[str], website: str
) -> None:
    out = tmp_path / "new" / "public"
    assert main([str(listed), "--out", str(out), *options]) == 0
    assert [path.name for path in out.iterdir()] == ["index.html"]
    made = Page((out / "index.html").read_text(encoding="utf-8"))
    assert made.data["website"] == website
    links = [value for value in made.all("href") if value.startswith("https:")]
    assert links == ([website, f"{website}/blob/HEAD/README.md"] if website else [])


def test_the_list_can_come_through_a_pipe(
    listed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(listed.read_bytes())))
    assert main(["--out", str(tmp_path / "piped")]) == 0
    assert main([str(listed), "--out", str(tmp_path / "read")]) == 0
    piped, read = (tmp_path / name / "index.html" for name in ("piped", "read"))
    assert piped.read_bytes() == read.read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("{}", "it is not a list of targets"),
        ("[1]", "it is not a list of targets"),
        ('[{"id": "a"}]', "it has no commands, which only --verbose prints"),
        ('[{"id": "a", "commands": []}]', "a target has no 'recommended'"),
    ],
)
def test_an_invalid_list_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "targets.json"
    path.write_text(text, encoding="utf-8")
    assert main([str(path), "--out", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "python build.py list --format json --verbose" in error
    assert not (tmp_path / "index.html").exists()


def test_an_unreadable_or_unwritable_path_is_named(
    listed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing.json"
    assert main([str(missing), "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"site/make.py: {missing}: No such file or directory.\n"
    assert main([str(listed), "--out", str(listed / "public")]) == 1
    assert capsys.readouterr().err == f"site/make.py: {listed / 'public'}: Not a directory.\n"


@pytest.mark.parametrize("url", ["git.example.com/a", "https://user:secret@git.example.com/a"])
def test_an_invalid_website_is_refused(
    listed: Path, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([str(listed), "--out", "x", "--website", url])
    assert caught.value.code == 2
    assert "Begin it with https://" in capsys.readouterr().err


def test_it_imports_nothing_of_the_image_builder() -> None:
    for path in Path(main.__code__.co_filename).parent.rglob("*.py"):
        assert not re.search(r"^\s*(from|import) cannery", path.read_text("utf-8"), re.MULTILINE)
