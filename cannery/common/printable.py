# SPDX-License-Identifier: Apache-2.0
"""Keeps what others say from controlling the terminal, or a log of CI that obeys its lines."""

from __future__ import annotations

import re

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


def _escaped(text: str) -> str:
    return text if text.isprintable() else "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character.isprintable() or character in _SPACES:
        return character
    return character.encode("unicode_escape").decode()


def _harmless(match: re.Match[str]) -> str:
    return f"{match[1]}\\x3a" if match[1] is not None else "#\\x23"
