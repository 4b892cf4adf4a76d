# SPDX-License-Identifier: Apache-2.0
"""Untrusted text: JSON and TOML with limits on size, depth and numbers, and text with escapes, so
that it controls neither a terminal nor a log of CI.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable
from typing import Any

MOST = 4 << 20
"""The default limit of a document in bytes, which is a manifest's."""

MOST_CONFIG = 8 << 20
"""The most bytes of the config of an image."""

_DEPTH = 64
_DIGITS = 40
_INTEGERS = range(-(1 << 63), 1 << 63)


def parse_json(text: str | bytes, *, most: int = MOST) -> Any:
    """The JSON document ``text`` of at most ``most`` bytes; ValueError if it breaks a limit."""
    if len(text) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    try:
        content = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        document = json.loads(
            content, parse_constant=_finite, parse_float=_finite, parse_int=_integer
        )
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    _values(document)
    return document


def parse_toml(text: str) -> dict[str, Any]:
    """The TOML document ``text``; ValueError if it breaks a limit."""
    try:
        document = tomllib.loads(text, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if any(isinstance(value, int) and value not in _INTEGERS for value in _values(document)):
        raise ValueError("an integer has more than 64 bits")
    return document


def whole_number(text: str, most: int = (1 << 32) - 1) -> int | None:
    """``text`` in ASCII digits as a number from 0 to ``most``, or None."""
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


def _values(document: Any) -> list[Any]:
    """All values in ``document``; ValueError if it is too deep."""
    level = [document]
    values = [document]
    for _ in range(_DEPTH + 1):
        outer = [value for value in level if isinstance(value, (dict, list))]
        if not outer:
            return values
        level = [v for o in outer for v in (o.values() if isinstance(o, dict) else o)]
        values += level
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
    """``document`` as JSON, with escapes for the same characters in its texts."""
    lines = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False).split("\n")
    return "\n".join(_escaped(line, lambda c: json.dumps(c)[1:-1]) for line in lines)


def _escaped(
    text: str, escape: Callable[[str], str] = lambda c: c.encode("unicode_escape").decode()
) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _SPACES else escape(c) for c in text)


def _harmless(match: re.Match[str]) -> str:
    return f"{match[1]}\\x3a" if match[1] is not None else "#\\x23"
