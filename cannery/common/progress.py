# SPDX-License-Identifier: Apache-2.0
"""Shows how far every target is: a line each, redrawn on a terminal, else written on."""

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
"""Seconds that a step has to take to be told of where lines cannot be redrawn."""

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
    """The state of every target; may be told from several threads."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._rows = {each: _Row() for each in ids}
        self._lock = threading.Lock()
        self.live = False

    def tell(self, target: str, state: str, detail: str = "", *, ended: bool = False) -> None:
        """Say that ``target`` is in ``state``; its seconds run from the first until ``ended``."""
        with self._lock:
            row = self._rows[target]
            changed = row.state != state
            row.state, row.detail = state, detail
            row.since = row.since or time.monotonic()
            if ended:
                row.took = time.monotonic() - row.since
            done = sum(each.took is not None for each in self._rows.values())
        if changed and not self.live:
            after = f" after {row.took:.1f} s" if row.took and row.took >= 0.1 else ""
            said = f"{target}: {state}{after}" + (f": {detail}" if detail else "")
            if ended and len(self._rows) > 1:
                said += f" ({done} of {len(self._rows)} targets)"
            console.say(said, _KINDS.get(state, ""))

    def step(self, target: str, text: str, seconds: float) -> None:
        """Say that a step of ``target`` took ``seconds``."""
        if not self.live and seconds >= _WORTH_A_LINE:
            console.say(f"{target}: {text} took {seconds:.1f} s")

    def rows(self, lines: int) -> list[tuple[str, str, str, str]]:
        """Target, state, seconds and detail; where ``lines`` are too few, what goes on is first."""
        now = time.monotonic()
        with self._lock:
            rows = list(self._rows.items())
            if len(rows) > lines:
                rows = [row for row in rows if row[1].took is None and row[1].since] + [
                    row for row in rows if row[1].took is not None or not row[1].since
                ]
                left = len(rows) - lines + 1
                rows = rows[: lines - 1]
            else:
                left = 0
            found = [(name, row.state, _clock(row, now), row.detail) for name, row in rows]
        return [*found, *([("", f"and {left} more", "", "")] if left else [])]


def _clock(row: _Row, now: float) -> str:
    if not row.since:
        return ""
    return f"{row.took if row.took is not None else now - row.since:.0f} s"


@contextmanager
def shown(board: Board) -> Iterator[Board]:
    """Show ``board`` while the block runs; what else is said meanwhile goes above it."""
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
