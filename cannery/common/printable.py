# SPDX-License-Identifier: Apache-2.0
"""Keeps what others say from controlling the terminal, or a log of CI that obeys its lines."""

from __future__ import annotations

import json
import re
from typing import Any

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
