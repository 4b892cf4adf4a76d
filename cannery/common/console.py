# SPDX-License-Identifier: Apache-2.0
"""Messages go to stderr, so that stdout holds nothing but what was asked for.

Colour is for a terminal only, and follows no-color.org and force-color.org. Nothing on stdout has
it. What others say is shown with escapes: see ``printable``.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Literal

from cannery.common.outside import printable

Kind = Literal["", "error", "warning", "ok"]
"""The kind of a message, which decides on its colour; "" has none."""

_COLUMNS = 80
_start = time.monotonic()
_COLOURS = {"error": "31", "warning": "33", "ok": "32"}
_writers: list[Callable[[str], None]] = []
_timed = True


def width() -> int:
    """The columns of the terminal that stdout is, and 0 for a file or a pipe."""
    return terminal_width() if sys.stdout.isatty() else 0


def terminal_width() -> int:
    """The columns of the terminal, or 80: those of shutil, whose import takes milliseconds."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    columns = 0
    with suppress(ValueError, OSError):
        columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
    return columns or _COLUMNS


def timed(on: bool) -> None:
    """Whether what is said from now on has the seconds since the start."""
    global _timed  # noqa: PLW0603
    _timed = on


def say(message: str, kind: Kind = "") -> None:
    """Tell the user what is going on."""
    time_spent = f"[{time.monotonic() - _start:6.1f} s] " if _timed else ""
    show(f"{time_spent}{_coloured(printable(message), kind)}\n")


def error(message: str) -> None:
    """Tell the user why build.py ends without doing what it was asked to."""
    show(f"{_coloured('build.py:', 'error')} {printable(message)}\n")


def show_result(text: str, *, failed: bool) -> None:
    """Show a report, whose first line says whether something has ``failed``."""
    head, newline, rest = printable(text).partition("\n")
    show(_coloured(head, "error" if failed else "ok") + newline + rest)


def show(text: str) -> None:
    """Show the user ``text``. That nobody reads it, or stderr is closed, does not stop a build."""
    if _writers:
        _writers[-1](text)
        return
    if sys.stderr is None:
        return
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True, end="")


@contextmanager
def written_by(writer: Callable[[str], None]) -> Iterator[None]:
    """Let ``writer`` show what is said in this block, as something that redraws the screen does."""
    _writers.append(writer)
    try:
        yield
    finally:
        _writers.remove(writer)


def _coloured(text: str, kind: Kind) -> str:
    return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if kind and _has_colour() else text


def _has_colour() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return (
        bool(sys.stderr) and sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
    )


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
