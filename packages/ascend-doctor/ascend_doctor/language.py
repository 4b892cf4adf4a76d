# SPDX-License-Identifier: Apache-2.0
"""The language of texts for people: Chinese in a Chinese locale, else English."""

from __future__ import annotations

import functools
import json
import os
import pkgutil

from .ini import read_ini
from .lazy import once

CHINESE = "zh"
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


def language() -> str:
    """``zh`` in a Chinese locale, else empty."""
    for variable in _VARIABLES:
        value = os.environ.get(variable, "")
        if value:
            return CHINESE if value.lower().startswith("zh") else ""
    return ""


def word(english: str) -> str:
    """A word of the report in the language of the user."""
    return _words().get(english, english) if language() else english


@once
def _words() -> dict[str, str]:
    data = pkgutil.get_data(__name__.rpartition(".")[0], "words.zh.json")
    found: dict[str, str] = json.loads(data or b"{}")
    return found


def texts(table: str, name: str) -> dict[str, str]:
    """The texts of a row of ``table`` in the language of the user; none if that is English."""
    return _texts(table).get(name, {}) if language() else {}


@functools.lru_cache(maxsize=None)
def _texts(table: str) -> dict[str, dict[str, str]]:
    rows = read_ini(__name__, f"{table}.{CHINESE}.ini")
    if table == "causes":
        rows.update(read_ini(__name__, f"known.{CHINESE}.ini"))
    return rows
