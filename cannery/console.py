# SPDX-License-Identifier: Apache-2.0
"""Talk goes to stderr, so that stdout holds nothing but what was asked for."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_start = time.monotonic()
_writers: list[Callable[[str], None]] = []


def width() -> int:
    """The columns of the terminal that stdout is, and 0 for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def say(message: str) -> None:
    """Tell the user what is going on, with the seconds since the start."""
    show(f"[{time.monotonic() - _start:6.1f} s] {message}\n")


def show(text: str) -> None:
    """Show the user ``text``. That nobody reads it any more does not stop a build."""
    if _writers:
        _writers[-1](text)
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
