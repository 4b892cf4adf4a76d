# SPDX-License-Identifier: Apache-2.0
"""Text for people: messages on stderr, in colour on a terminal, and the layout of texts.

stdout has only the output of a command. Colour follows no-color.org and force-color.org; text of
others is shown with escapes (``printable``).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Literal

from cannery.common import program
from cannery.common.outside import printable

Kind = Literal["", "error", "warning", "ok"]
"""The kind of a message, for its colour."""

_start = time.monotonic()
_COLOURS = {"error": "31", "warning": "33", "ok": "32"}
_writers: list[Callable[[str], None]] = []
_timed = True


def width() -> int:
    """The columns of the terminal that stdout is, and 0 for a file or a pipe."""
    return terminal_width() if sys.stdout.isatty() else 0


def reading_width() -> int:
    """The columns of the terminal that stdout is, and 100 for a file or a pipe."""
    return width() or 100


def terminal_width() -> int:
    """The columns of the terminal, or 80."""
    return shutil.get_terminal_size().columns


def timed(on: bool) -> None:
    """Switch the seconds since the start before each message."""
    global _timed  # noqa: PLW0603
    _timed = on


def say(message: str, kind: Kind = "") -> None:
    """Show progress."""
    time_spent = f"[{time.monotonic() - _start:6.1f} s] " if _timed else ""
    show(f"{time_spent}{_coloured(printable(message), kind)}\n")


def error(message: str) -> None:
    """Show why the program fails."""
    name = program.text("build.py:")
    show(f"{_coloured(name, 'error')} {printable(message)}\n")


def show_result(text: str, *, failed: bool) -> None:
    """Show a report whose first line is red or green."""
    head, newline, rest = printable(text).partition("\n")
    show(_coloured(head, "error" if failed else "ok") + newline + rest)


def show(text: str) -> None:
    """Show ``text``. A closed stderr does not stop a build."""
    text = program.text(text)
    if _writers:
        _writers[-1](text)
    elif sys.stderr is not None:
        with suppress(BrokenPipeError):
            print(text, file=sys.stderr, flush=True, end="")


@contextmanager
def written_by(writer: Callable[[str], None]) -> Iterator[None]:
    """Send the messages of this block to ``writer``, for a display that is redrawn."""
    _writers.append(writer)
    try:
        yield
    finally:
        _writers.remove(writer)


def _coloured(text: str, kind: Kind) -> str:
    if not kind or os.environ.get("NO_COLOR"):
        return text
    dull = not sys.stderr or not sys.stderr.isatty() or os.environ.get("TERM", "") in ("", "dumb")
    if dull and not os.environ.get("FORCE_COLOR"):
        return text
    return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m"


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """``rows`` as lines with cells two spaces apart; ``right`` has the columns aligned there."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def fold(lines: Iterable[str], width: int) -> list[str]:
    """``lines`` wrapped between words to ``width`` characters; 0 wraps none."""
    folded: list[str] = []
    for line in lines:
        # Nearly all lines of a listing fit, and textwrap is slow.
        if line.isprintable() and (not width or len(line) <= width):
            folded.append(line.rstrip())
            continue
        folded += textwrap.wrap(
            line,
            width or len(line) + 1,
            subsequent_indent=" " * (len(line) - len(line.lstrip()) + 4),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return folded


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
