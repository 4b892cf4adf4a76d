# SPDX-License-Identifier: Apache-2.0
"""The texts of the page in every language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml
from markupsafe import Markup, escape

LANGUAGES = {"en": "en", "zh": "zh-CN"}
"""Short name of a language to its BCP 47 tag; the first one is the default."""

SCRIPT = "js."
"""The prefix of the keys that the page's script needs."""


@cache
def strings(language: str) -> Mapping[str, str]:
    """Key to text, which may have placeholders such as ``{name}``."""
    path = Path(__file__).with_name(f"strings.{language}.yaml")
    found: dict[str, str] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def say(key: str, **values: object) -> Markup:
    """A sentence in every language, of which the page shows one.

    ``values`` fill its places and are escaped, unless they are markup themselves.

    Raises:
        KeyError: there is no such sentence, or a place has no value.
    """
    spans = [
        Markup('<span class="{}" lang="{}">{}</span>').format(
            name, tag, escape(strings(name)[key]).format(**values)
        )
        for name, tag in LANGUAGES.items()
    ]
    return Markup("").join(spans)


def for_script() -> dict[str, dict[str, str]]:
    """Language to the texts that the page's script needs."""
    return {
        name: {key: text for key, text in strings(name).items() if key.startswith(SCRIPT)}
        for name in LANGUAGES
    }
