# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from strings import LANGUAGES, chinese, strings
from tests.samples import all_targets

FOLDER = Path(__file__).resolve().parents[1]
SOURCES = [*FOLDER.glob("*.py"), *(FOLDER / "templates").iterdir()]
HAN = re.compile(r"[\u4e00-\u9fff]")
ENGLISH, CHINESE = strings("en"), strings("zh")


def places(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_both_languages_have_the_same_keys() -> None:
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


def test_every_summary_has_a_translation() -> None:
    for target in all_targets():
        translation = chinese(target["summary"])
        assert not re.search(r"\b(and|for|its|of|on|that|the|which|with|without)\b", translation), (
            f"add the phrase to summaries.zh.yaml: {translation}"
        )
        assert HAN.search(translation)


def test_versions_and_names_stay_as_they_are() -> None:
    translation = chinese("PyTorch 2.1.0 on CANN 8.0.RC2, for code that still needs Python 3.8")
    assert translation.startswith("PyTorch 2.1.0")
    assert "基于 CANN 8.0.RC2" in translation
    assert translation.endswith("适用于仍需 Python 3.8 的代码")
