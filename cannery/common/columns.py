# SPDX-License-Identifier: Apache-2.0
"""Lays out text: aligned columns, lines that fit a width, and cells of Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Sequence


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """One line for each of ``rows``, which all have the same number of cells.

    Cells are at least two spaces apart. ``right`` holds the indexes of columns aligned to the
    right.
    """
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def fold(lines: Iterable[str], width: int) -> list[str]:
    """``lines``, of which those longer than ``width`` characters go on, indented, in the next.

    Lines are broken between words only, so a word may be longer. A ``width`` of 0 breaks none.
    """
    found: list[str] = []
    for line in lines:
        # Nearly all lines of a listing fit, and textwrap takes longer than all the rest of it.
        if line.isprintable() and (not width or len(line) <= width):
            found.append(line.rstrip())
        else:
            found += _wrapped(line, width or len(line) + 1)
    return found


def _wrapped(line: str, width: int) -> list[str]:
    """The lines that ``line`` becomes, of which all but the first are indented further."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    wrapped = textwrap.wrap(
        line,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return wrapped or [""]


def size_text(size: int) -> str:
    """As in ``3.1 GB``: decimal units, as registries show them."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.{1 if size < 100 * factor else 0}f} {unit}"
    return f"{size} B"


_SPECIAL = re.compile(r"([\\`*\[\]<>#|~]|(?<!\w)_|_(?!\w))")


def escaped(text: str) -> str:
    """``text`` escaped for Markdown and HTML, on one line, for a cell."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("&", "&amp;")


def code(text: str) -> str:
    """``text`` on one line in the font of code; for names, which have no backticks."""
    return f"`{' '.join(text.split()).replace('|', chr(92) + '|')}`"
