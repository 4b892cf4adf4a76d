# SPDX-License-Identifier: Apache-2.0
"""Shows how far downloads are: redrawn on a terminal, else one line for each file at its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import progress
from rich.console import Console
from rich.progress import Progress

from cannery.common import console

Bar = Callable[[int, int], None]
"""Is told how many bytes are there, and how many there will be (0 if that is not known)."""


class Screen:
    """Makes a bar for each file; without ``progress`` nothing is shown while a file arrives."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress

    @contextmanager
    def bar(self, name: str) -> Iterator[Bar]:
        """A bar for the file ``name``, which goes away with the block."""
        if self._progress is None:
            yield lambda _there, _total: None
            return
        progress = self._progress
        task = progress.add_task(name, total=None)
        try:
            yield lambda there, total: progress.update(task, completed=there, total=total or None)
        finally:
            progress.remove_task(task)


@contextmanager
def screen() -> Iterator[Screen]:
    """The bars of several files, while the block runs; what is said meanwhile goes above them."""
    if not sys.stderr.isatty() or os.environ.get("TERM") in (None, "", "dumb"):
        yield Screen()
        return
    terminal = Console(stderr=True, highlight=False)
    shown = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=20),
        progress.DownloadColumn(binary_units=False),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
        console=terminal,
        redirect_stdout=False,
        redirect_stderr=False,
        transient=True,
    )

    def write(text: str) -> None:
        terminal.print(text, end="", markup=False, soft_wrap=True)

    with shown, console.written_by(write):
        yield Screen(shown)
