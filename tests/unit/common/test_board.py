# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cannery.common.progress import Board, _table, shown

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import time
from cannery.common import console
from cannery.common.progress import Board, shown
board = Board(["one", "two"])
with shown(board):
    board.tell("one", "building", "1/3 os 1/1 RUN [x]")
    console.say("something else [y]")
    time.sleep(0.5)
    board.tell("one", "done", "ready", ended=True)
    board.tell("two", "failed", "no", ended=True)
"""


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(Board(["one", "two"])) as board:
        board.tell("one", "building")
        board.tell("one", "building", "1/3 os 1/1 RUN")
        board.step("one", "os 1/1 RUN", 2.9)
        board.step("one", "os 1/1 RUN", 3.0)
        board.tell("two", "skipped", "two is up to date", ended=True)
        board.tell("one", "done", "one is ready", ended=True)
    said = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "one: building",
        "one: os 1/1 RUN took 3.0 s",
        "two: skipped: two is up to date (1 of 2 targets)",
        "one: done: one is ready (2 of 2 targets)",
    ]


@pytest.mark.parametrize("columns", [80, 100])
def test_the_state_and_the_seconds_are_whole_on_a_narrow_terminal(columns: int) -> None:
    long = "py310-torch210-cann8rc3-swift261-with-a-long-name"
    board = Board([long, "two"])
    board.tell(
        "two", "building", "12/40 wheels-torch-deps 1/1 RUN install-wheels --no-index /tmp/x"
    )
    board.tell(long, "verifying", "x" * 70)
    screen = Console(width=columns, file=StringIO(), force_terminal=True, color_system=None)
    with screen.capture() as captured:
        screen.print(_table(board, screen))
    assert re.search("verifying +0 s", captured.get())
    assert re.search("building +0 s", captured.get())


def test_a_terminal_is_redrawn() -> None:
    first, second = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        stderr=second,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "20"},
    )
    os.close(second)
    said = b""
    try:
        while chunk := os.read(first, 4096):
            said += chunk
    except OSError:  # how Linux says that the other end has gone
        pass
    assert process.wait() == 0
    os.close(first)
    text = said.decode()
    assert "something else [y]" in text
    assert "1/3 os 1/1 RUN [x]" in text
    assert "waiting" in text
    assert "\x1b[1A" in text or "\x1b[2K" in text
    last = text[text.rindex("mdone") :]
    assert "done" in last and "two" in last and "failed" in last
