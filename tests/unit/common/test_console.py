# SPDX-License-Identifier: Apache-2.0
"""Colour: on a terminal only, unless the user says otherwise."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cannery.common import console
from cannery.common.console import columns, fold, size_text
from cannery.common.progress import Board, _table, shown

RED, YELLOW, GREEN, END = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Callable[[io.StringIO], io.StringIO]:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(console, "_timed", True)

    def use(stream: io.StringIO) -> io.StringIO:
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return use


Use = Callable[[io.StringIO], io.StringIO]


@pytest.mark.parametrize(
    ("terminal", "environ", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": ""}, False),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"TERM": ""}, False),
        (False, {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_when_there_is_colour(
    stderr: Use,
    monkeypatch: pytest.MonkeyPatch,
    terminal: bool,
    environ: dict[str, str],
    coloured: bool,
) -> None:
    stream = stderr(Terminal() if terminal else io.StringIO())
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    console.error("x is wrong.")
    start, end = (RED, END) if coloured else ("", "")
    assert stream.getvalue() == f"{start}build.py:{end} x is wrong.\n"


def test_each_message_has_its_colour(stderr: Use) -> None:
    stream = stderr(Terminal())
    console.say("plain")
    console.say("be careful", "warning")
    console.say("in sync", "ok")
    console.show_result("t: 3 passed\n  more\n", failed=False)
    console.show_result("t: 1 failed\n  more\n", failed=True)
    text = stream.getvalue()
    assert text.count("\x1b") == 8
    assert "] plain\n" in text
    assert f"] {YELLOW}be careful{END}\n" in text
    assert f"] {GREEN}in sync{END}\n" in text
    assert f"\n{GREEN}t: 3 passed{END}\n  more\n" in text
    assert f"\n{RED}t: 1 failed{END}\n  more\n" in text


def test_control_characters_are_escaped(stderr: Use) -> None:
    said = stderr(Terminal())
    for tell in (console.say, console.error, lambda text: console.show_result(text, failed=True)):
        tell("a\n::error::b\x1b[2J\x9b\u202e\n")
    text = said.getvalue()
    for colour in (RED, YELLOW, GREEN, END):
        text = text.replace(colour, "")
    assert all(line.isprintable() for line in text.split("\n"))
    assert "\n::" not in text


def test_cells_are_aligned_and_no_line_ends_in_spaces() -> None:
    rows = [("name", "count", ""), ("a longer one", "7", "note")]
    assert columns(rows, right={1}) == ["name          count", "a longer one      7  note"]
    assert columns(rows) == ["name          count", "a longer one  7      note"]
    assert columns([]) == []


def test_a_long_line_goes_on_indented() -> None:
    assert fold(["  1  a-name (one two three)"], 16) == ["  1  a-name (one", "      two three)"]
    assert fold(["a-word-that-is-longer than it"], 8) == [
        "a-word-that-is-longer",
        "    than",
        "    it",
    ]


def test_nothing_is_folded_without_a_width() -> None:
    lines = ["  " + "word " * 100 + "end", "", "x"]
    assert fold(lines, 0) == lines


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (123_456, "123 kB"),
        (31_000_000, "31.0 MB"),
        (999_999_999, "1000 MB"),
        (3_141_592_653, "3.1 GB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


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


def test_a_small_screen_has_the_running_targets_and_the_number_of_the_others() -> None:
    board = Board([f"t{number}" for number in range(10)])
    board.tell("t1", "done", ended=True)
    board.tell("t7", "building", "x")
    rows = board.rows(4)
    assert [row[0] for row in rows] == ["t7", "t0", "t1", ""]
    assert rows[-1][1] == "and 7 more"
    assert len(board.rows(10)) == 10


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
