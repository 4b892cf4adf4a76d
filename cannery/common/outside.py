# SPDX-License-Identifier: Apache-2.0
"""What others say: their JSON and TOML, read with limits on size, depth and numbers, and their
text, shown so that it controls neither a terminal nor a log of CI that obeys its lines.
"""

from __future__ import annotations

import json
import math
import re
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


_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\[)", re.MULTILINE)
"""Matches the beginnings of commands in the logs of GitHub Actions and Azure Pipelines."""

_SPACES = "\u00a0\u3000"
"""Spaces of people's languages, which ``isprintable`` leaves out."""


def printable(text: str) -> str:
    """``text`` with escapes for what controls a terminal or a log, except tabs and newlines."""
    lines = "\n".join("\t".join(map(_escaped, line.split("\t"))) for line in text.split("\n"))
    return _COMMAND.sub(_harmless, lines)


def one_line(text: str) -> str:
    """``text`` with escapes for tabs and newlines, too."""
    return _COMMAND.sub(_harmless, _escaped(text))


def json_text(document: Any) -> str:
    """``document`` as JSON for people and programs, with escapes for the same in its texts."""
    lines = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False).split("\n")
    return "\n".join(line if line.isprintable() else "".join(map(_json, line)) for line in lines)


def _json(character: str) -> str:
    # Only texts can have any other character.
    kept = character.isprintable() or character in _SPACES
    return character if kept else json.dumps(character, ensure_ascii=True)[1:-1]


def _escaped(text: str) -> str:
    return text if text.isprintable() else "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character.isprintable() or character in _SPACES:
        return character
    return character.encode("unicode_escape").decode()


def _harmless(match: re.Match[str]) -> str:
    return f"{match[1]}\\x3a" if match[1] is not None else "#\\x23"
