# SPDX-License-Identifier: Apache-2.0
"""The texts of the page in every language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

LANGUAGES = {"en": "en", "zh": "zh-CN"}
"""Short name of a language to its BCP 47 tag; the first one is the default."""


@cache
def strings(language: str) -> Mapping[str, str]:
    """Key to text, which may have placeholders such as ``{name}``."""
    texts: dict[str, str] = _read(f"strings.{language}.yaml")
    return texts


def chinese(summary: str) -> str:
    """A target's summary in Chinese; phrases that are not in summaries.zh.yaml stay English."""
    for phrase, translation in _read("summaries.zh.yaml").items():
        summary = re.sub(phrase, translation, summary)
    return summary


@cache
def _read(name: str) -> Any:
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
