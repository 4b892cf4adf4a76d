# SPDX-License-Identifier: Apache-2.0
"""Aligned columns, names of things, and texts of others that do not control a terminal."""

from __future__ import annotations

import enum
import re
from typing import Collection, Sequence

_COMMAND = re.compile(r"^(\s*):(?=:)|##(?=\[)", re.MULTILINE)
"""Matches the beginnings of commands in the logs of GitHub Actions and Azure Pipelines."""

_SPACES = "\u00a0\u3000"
"""Spaces of people's languages, which ``isprintable`` leaves out."""


class TextEnum(str, enum.Enum):
    """A name that is its own text; Python has StrEnum from 3.11 on."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """One line for each of ``rows``, which all have the same number of cells.

    Cells are at least two spaces apart. ``right`` holds the indexes of columns aligned to the
    right.
    """
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    return [
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def printable(text: str) -> str:
    """``text`` with escapes for what controls a terminal or a log, except tabs and newlines."""
    lines = "\n".join("\t".join(map(_escaped, line.split("\t"))) for line in text.split("\n"))
    return _COMMAND.sub(_harmless, lines)


def _escaped(text: str) -> str:
    return text if text.isprintable() else "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character.isprintable() or character in _SPACES:
        return character
    return character.encode("unicode_escape").decode()


def _harmless(match: re.Match[str]) -> str:
    return f"{match[1]}\\x3a" if match[1] is not None else "#\\x23"
