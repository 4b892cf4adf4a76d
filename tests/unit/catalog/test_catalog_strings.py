# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from cannery import catalog
from cannery.catalog.facets import FACETS
from cannery.catalog.strings import LANGUAGES, SCRIPT, for_script, say, strings

FOLDER = Path(catalog.__file__).parent
SOURCES = [*FOLDER.glob("*.py"), *(FOLDER / "templates").iterdir()]
HAN = re.compile(r"[\u4e00-\u9fff]")
ENGLISH, CHINESE = strings("en"), strings("zh")


def places(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_both_languages_say_the_same_things() -> None:
    assert [*ENGLISH] == [*CHINESE]
    assert [*LANGUAGES] == ["en", "zh"]


@pytest.mark.parametrize("key", ENGLISH)
def test_a_sentence_is_translated_and_keeps_its_places(key: str) -> None:
    assert isinstance(ENGLISH[key], str)
    assert isinstance(CHINESE[key], str)
    assert places(ENGLISH[key]) == places(CHINESE[key])
    assert not HAN.search(ENGLISH[key])
    assert HAN.search(CHINESE[key]), CHINESE[key]


def used() -> tuple[set[str], set[str]]:
    """The keys that templates and scripts name whole, and the fronts of those that they put
    together."""
    whole: set[str] = set()
    fronts: set[str] = set()
    for path in SOURCES:
        if path.suffix not in (".py", ".j2", ".js"):
            continue
        text = path.read_text(encoding="utf-8")
        whole |= {*re.findall(r"[\"']([a-z][a-z_0-9.]*)[\"']", text)}
        fronts |= {*re.findall(r"[\"']([a-z_.]+\.)[\"'] ~", text)}
        fronts |= {*re.findall(r"[f`\"']([a-z_.]+\.)\$?\{", text)}
    return whole, fronts


def test_every_sentence_is_used() -> None:
    whole, fronts = used()
    unused = [k for k in ENGLISH if k not in whole and not k.startswith(tuple(fronts))]
    assert unused == []


def test_what_has_no_choice_is_named() -> None:
    for facet in FACETS:
        if facet in ("torch", "application"):
            assert f"facet.none.{facet}" in ENGLISH


def test_a_sentence_comes_in_every_language_and_its_values_are_escaped() -> None:
    said = say("copy.what", id="<b>&", what=say("copy"))
    assert said == (
        '<span class="en" lang="en">(<span class="en" lang="en">Copy</span>'
        '<span class="zh" lang="zh-CN">复制</span> of &lt;b&gt;&amp;)</span>'
        '<span class="zh" lang="zh-CN">(&lt;b&gt;&amp; 的<span class="en" lang="en">Copy</span>'
        '<span class="zh" lang="zh-CN">复制</span>)</span>'
    )


def test_a_sentence_that_is_none_or_lacks_a_value() -> None:
    with pytest.raises(KeyError):
        say("no.such")
    with pytest.raises(KeyError):
        say("copy.what", id="x")


def test_the_script_gets_its_own_sentences_only() -> None:
    found = for_script()
    assert [*found] == [*LANGUAGES]
    for texts in found.values():
        assert texts
        assert all(key.startswith(SCRIPT) for key in texts)
