# SPDX-License-Identifier: Apache-2.0
"""The door for JSON and TOML of others, with limits on size, depth and numbers."""

from __future__ import annotations

import json
import math
import tomllib
from typing import Any

MOST = 4 << 20
"""The most bytes of a document, where nothing else is said: those of a manifest."""

MOST_CONFIG = 8 << 20
"""The most bytes of the config of an image."""

_DEPTH = 64
_DIGITS = 40
_INTEGERS = range(-(1 << 63), 1 << 63)


def parse_json(text: str | bytes, *, most: int = MOST) -> Any:
    """The JSON document ``text``, of at most ``most`` bytes or characters.

    Raises:
        ValueError: it is not one, too large, too deep, or has a number that is not finite.
    """
    if len(text) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    try:
        content = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        found = json.loads(content, parse_constant=_finite, parse_float=_finite, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    _require_limits(found)
    return found


def parse_toml(text: str) -> dict[str, Any]:
    """The TOML document ``text``.

    Raises:
        ValueError: it is not one, too deep, or has a number that TOML does not require.
    """
    try:
        found = tomllib.loads(text, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    for each in _require_limits(found):
        if isinstance(each, int) and each not in _INTEGERS:
            raise ValueError("an integer has more than 64 bits")
    return found


def whole_number(text: str, most: int = (1 << 32) - 1) -> int | None:
    """The number from 0 to ``most`` that ``text`` is in digits of ASCII; None if it is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        return None
    return number if (number := int(text)) <= most else None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError("a number has too many digits")
    return int(text)


def _require_limits(document: Any) -> list[Any]:
    """All values in ``document``; ValueError if it is too deep."""
    level, found = [document], []
    for _ in range(_DEPTH):
        found += level
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return found
    if not any(isinstance(each, (dict, list)) for each in level):
        return found + level
    raise ValueError("nested too deeply")
