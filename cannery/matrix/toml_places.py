# SPDX-License-Identifier: Apache-2.0
"""The places of keys in TOML text, which Python's reader does not tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cannery.common.errors import Span
from cannery.common.outside import parse_toml


def place_of(text: str, file: str, path: Sequence[str], index: int = 0) -> Span:
    """The place of the key at ``path`` in ``text``, which is valid TOML.

    Of an array of tables it is that of the table ``index``.
    """
    found = [each for each in _statements(text) if _has(each[2], path)]
    tables = [each for each in found if each[1].startswith("[[")]
    if not found:
        return Span(file=file, line=1, column=1)
    number = (tables[index] if index < len(tables) else found[0])[0]
    line = text.split("\n")[number - 1]
    return Span(file=file, line=number, column=len(line) - len(line.lstrip()) + 1)


def _statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Every header and every key with its value: the number of its line, its text, and what it says
    below its header.
    """
    header, begun = "", 0
    lines = text.split("\n")
    for number in range(1, len(lines) + 1):
        statement = "\n".join(lines[begun:number]).lstrip()
        try:
            values = parse_toml(f"{header}\n{statement}")
        except ValueError:
            continue  # it goes on in the next line
        first, begun = begun + 1, number
        if statement.startswith("["):
            header, values = statement, parse_toml(statement)
        if statement and not statement.startswith("#"):
            yield first, statement, values


def _has(values: Any, path: Sequence[str]) -> bool:
    for key in path:
        values = values[0] if isinstance(values, list) and values else values
        if not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True
