# SPDX-License-Identifier: Apache-2.0
"""Takes the beginnings of a line apart: who wrote it, when, and how bad it was said to be."""

from __future__ import annotations

import re
from typing import Match, NamedTuple, Tuple

from .signs import pattern, patterns

Time = Tuple[float, ...]
"""Month, day, hour, minute and second: logs of many programs have no year."""

_ANSI = pattern("ansi")
_WORDS = {"ERROR", "WARNING", "WARN", "INFO", "DEBUG", "EVENT", "TRACE", "CRITICAL", "FATAL"}
_STARTS = patterns("starts")
_ANY = re.compile("|".join(re.sub(r"\?P<\w+>", "?:", each.pattern) for each in _STARTS), re.ASCII)
"""Whether any of them is there: one search in place of forty."""

_MOST = 8
_WHO = pattern("who", re.ASCII)
_WHO_WITHIN = 120
_LEVELS = {"E": "error", "F": "error", "C": "error", "W": "warning", "I": "info"}
_RANKS, _WORKER, _PID, _STAMP = (
    pattern(name, re.ASCII) for name in ("ranks", "worker", "pid", "stamp")
)
_DEVICES = pattern("devices")


class Line(NamedTuple):
    """A line without its beginnings. Numbers are -1, and ``time`` is None, where it has none.

    ``level`` is ``error``, ``warning``, ``info`` or empty; ``label`` names the process.
    """

    text: str
    level: str
    time: Time | None
    rank: int
    device: int
    pid: int
    label: str


def plain(text: str) -> str:
    """``text`` without colours and control characters."""
    if "\x1b" in text or "^[[" in text:
        text = _ANSI.sub("", text)
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def process_of(text: str) -> str:
    """The process that a line says it is of, by its number where it has one; empty if none."""
    found = ""
    for match in _WHO.finditer(text, 0, _WHO_WITHIN):
        if match["pid"]:
            return str(match["pid"])
        if not found and match[0].strip(" |:>") not in _WORDS:
            found = str(match[str(match.lastgroup)])
    return found


def read_line(text: str) -> Line:
    """The parts of a line of a log."""
    found: dict[str, str] = {}
    at, time = 0, None
    for _ in range(_MOST):
        if not _ANY.match(text, at):
            break
        match = next((m for start in _STARTS for m in [start.match(text, at)] if m), None)
        if not match or match.end() == at:
            break
        parts = {key: value for key, value in match.groupdict().items() if value}
        time = time or _time(match)
        found = {**parts, **found}
        at = match.end()
    worker = _WORKER.match(found.get("label", ""))
    if worker and "rank" not in found:
        found["rank"] = worker[1]
    if time is None and ":" in text[at:]:
        stamp = _STAMP.search(text, at)
        time = _time(stamp) if stamp else None
    return Line(
        text[at:],
        _level(found, text),
        time,
        _number(found.get("rank"), _RANKS, text),
        _number(found.get("device"), _DEVICES, text),
        _number(found.get("pid"), _PID, text),
        found.get("label", "").strip(),
    )


def _level(found: dict[str, str], text: str) -> str:
    word = found.get("level", "")
    if not word and "glog" in found:
        return _LEVELS[found["glog"]]
    if word.upper() in ("ERROR", "CRITICAL", "FATAL", "错误", "严重", "致命"):
        return "error"
    if word.upper().startswith(("WARN", "警告")):
        return "warning"
    if word:
        return "info"
    return "warning" if "Warning: " in text or "warnings.warn(" in text else ""


def _time(match: Match[str]) -> Time | None:
    parts = match.groupdict()
    if not parts.get("hour") or not parts.get("month"):
        return None
    seconds = float(parts["second"] + "." + (parts["part"] or "0"))
    return (
        int(parts["month"]),
        int(parts["day"]),
        int(parts["hour"]),
        int(parts["minute"]),
        seconds,
    )


def _number(word: str | None, pattern: re.Pattern[str], text: str) -> int:
    if word is None or word.startswith("-"):
        match = pattern.search(text)
        word = next((group for group in match.groups() if group), None) if match else None
    return int(word) if word is not None and not word.startswith("-") else -1
