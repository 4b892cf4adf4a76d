# SPDX-License-Identifier: Apache-2.0
"""The progress of every target: a table on a terminal, else one line for each change."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cannery.common import console

_WORTH_A_LINE = 3.0
"""Seconds from which a step gets a line where lines cannot be redrawn."""

_GAP = 2
_DETAIL = 20
"""Columns between two cells, and those that the detail gets on a narrow terminal."""

_KINDS: dict[str, console.Kind] = {"done": "ok", "failed": "error"}
_STYLES = {"done": "green", "failed": "red", "skipped": "dim", "waiting": "dim"}


@dataclass
class _Row:
    state: str = "waiting"
    detail: str = ""
    since: float = 0.0
    took: float | None = None


class Board:
    """The state of every target, for several threads."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._rows = {target: _Row() for target in ids}
        self._lock = threading.Lock()
        self.live = False

    def tell(self, target: str, state: str, detail: str = "", *, ended: bool = False) -> None:
        """Set the state of ``target``; its seconds run from the first call until ``ended``."""
        with self._lock:
            row = self._rows[target]
            changed = row.state != state
            row.state, row.detail = state, detail
            row.since = row.since or time.monotonic()
            if ended:
                row.took = time.monotonic() - row.since
            done = sum(row.took is not None for row in self._rows.values())
        if changed and not self.live:
            after = f" after {row.took:.1f} s" if row.took and row.took >= 0.1 else ""
            line = f"{target}: {state}{after}" + (f": {detail}" if detail else "")
            if ended and len(self._rows) > 1:
                line += f" ({done} of {len(self._rows)} targets)"
            console.say(line, _KINDS.get(state, ""))

    def step(self, target: str, text: str, seconds: float) -> None:
        if not self.live and seconds >= _WORTH_A_LINE:
            console.say(f"{target}: {text} took {seconds:.1f} s")

    def rows(self, lines: int) -> list[tuple[str, str, str, str]]:
        """Target, state, seconds and detail in ``lines`` rows, running targets first."""
        now = time.monotonic()
        shown = []
        with self._lock:
            rows = list(self._rows.items())
            left = len(rows) - lines + 1 if len(rows) > lines else 0
            if left:
                rows.sort(key=lambda row: not row[1].since or row[1].took is not None)
            for name, row in rows[: lines - 1 if left else None]:
                seconds = row.took if row.took is not None else now - row.since
                shown.append((name, row.state, f"{seconds:.0f} s" if row.since else "", row.detail))
        return [*shown, *([("", f"and {left} more", "", "")] if left else [])]


@contextmanager
def shown(board: Board) -> Iterator[Board]:
    """Show ``board`` while the block runs, with messages above it."""
    if not sys.stderr.isatty() or os.environ.get("TERM") in (None, "", "dumb"):
        yield board
        return
    screen = Console(stderr=True, highlight=False)
    board.live = True
    with ExitStack() as stack:
        live = Live(
            get_renderable=lambda: _table(board, screen),
            console=screen,
            refresh_per_second=4,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        stack.enter_context(live)

        def write(text: str) -> None:
            screen.print(text, end="", markup=False, soft_wrap=True)

        stack.enter_context(console.written_by(write))
        try:
            yield board
        finally:
            board.live = False


def _table(board: Board, screen: Console) -> RenderableType:
    table = Table.grid(padding=(0, _GAP), expand=False)
    rows = board.rows(max(screen.height - 2, 3))
    names, states, clocks = (max(len(row[column]) for row in rows) for column in range(3))
    # On a narrow terminal, the name and the detail are cut, and not the state and the seconds.
    room = screen.width - states - clocks - 3 * _GAP
    names = min(names, max(room - _DETAIL, room // 2))
    table.add_column(no_wrap=True, width=names)
    table.add_column(no_wrap=True, width=states)
    table.add_column(no_wrap=True, width=clocks, justify="right")
    table.add_column(no_wrap=True, max_width=max(room - names, 1))
    for name, state, seconds, detail in rows:
        table.add_row(name, Text(state, style=_STYLES.get(state, "")), seconds, Text(detail))
    return table
