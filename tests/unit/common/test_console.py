# SPDX-License-Identifier: Apache-2.0
"""Colour: on a terminal only, unless the user says otherwise."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from cannery.common import console

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


def test_what_has_which_colour(stderr: Use) -> None:
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


def test_what_others_say_controls_nothing(stderr: Use) -> None:
    said = stderr(Terminal())
    for tell in (console.say, console.error, lambda text: console.show_result(text, failed=True)):
        tell("a\n::error::b\x1b[2J\x9b\u202e\n")
    text = said.getvalue()
    for colour in (RED, YELLOW, GREEN, END):
        text = text.replace(colour, "")
    assert all(line.isprintable() for line in text.split("\n"))
    assert "\n::" not in text
