# SPDX-License-Identifier: Apache-2.0
"""Takes the beginnings of a line apart: who wrote it, when, and how bad it was said to be."""

from __future__ import annotations

import re
from typing import Match, NamedTuple, Tuple

Time = Tuple[float, ...]
"""Month, day, hour, minute and second: logs of many programs have no year."""

_ANSI = re.compile(r"(?:\x1b|\^\[)\[[0-9;?]*[A-Za-z]")
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<part>\d{1,9}))?(?:[.\d]*)"
_DATE = r"(?:\d{4}[-/])?(?P<month>\d\d)[-/](?P<day>\d\d)"
_WORDS = "ERROR|WARNING|WARN|INFO|DEBUG|EVENT|TRACE|CRITICAL|FATAL"
_AFTER_TIME = r"(?:[+-]\d\d:\d\d)?(?: \d+ \d+)?\]?(?:\s*[-|:]\s*|\s+|$)"
_STARTS = [
    re.compile(start, re.ASCII)
    for start in (
        # the files of docker's logs
        r'\{"log":"',
        # Kubernetes, journald, and quotations in threads
        r"> ",
        r"[A-Z][a-z]{2} +\d+ [\d:]{8} [\w.-]+ (?P<program>[\w./-]+)\[\d+\]: ",
        r"std(?:out|err) [FP] ",
        # docker compose, torchrun with --log-prefix, mpirun, pdsh
        rf"(?!(?:{_WORDS})\b)(?P<label>[\w.-]{{1,60}})\s+\|\s?(?=\S)",
        r"\[rank(?P<rank>\d+)\]:?\s?",
        r"\[\d+,(?P<rank>\d+)\]<std\w+>:\s?",
        r"\[default(?P<rank>\d+)\]:\s?",
        r"(?P<label>(?:worker|node|host|pod|rank)-?\d+):\s",
        r"\[(?P<label>[A-Za-z][\w-]{0,30}\d)\]\s(?=[A-Z(\[])",
        # Ray and vLLM
        r"\((?P<label>[A-Za-z_]\w*(?: [\w.]+){0,3} )?pid=(?P<pid>\d+)(?:, [^)]*)?\)\s?",
        r"\((?P<label>raylet|gcs_server)\)\s?",
        # torch_npu, plog, MindSpore
        r"\[ERROR\] " + _DATE + "-" + _CLOCK + r" \(PID:(?P<pid>\d+), Device:(?P<device>-?\d+), "
        r"RankID:(?P<rank>-?\d+)\)\s?",
        rf"\[(?P<level>{_WORDS})\] \w+\((?P<pid>\d+)[^)]*\):{_DATE}-{_CLOCK}\s*",
        # c10d and torchrun; old torch has no time
        r"\[?(?P<glog>[EWIFC])(?:20\d\d)?(?P<month>\d{1,2})(?P<day>\d\d) "
        + _CLOCK
        + r" +(?:\d+ +)?[^\s\]]+\] ?",
        r"\[?(?P<glog>[EWIFC]) [\w./-]+:\d+\]\s?",
        r"\[(?P<glog>[EWIFC]):[^\]]*\]\s?",
        # Python's logging in its many forms
        rf"(?P<level>{_WORDS}) {_DATE} {_CLOCK} \[?[^\s\]]+\](?:\s|$)",
        rf"\[?{_DATE}[ T-]+{_CLOCK}Z?(?:,\d+)?(?: E| W)?(?P<label>(?: [TDE]P\d+)+)?" + _AFTER_TIME,
        rf"\|?\s*(?P<level>{_WORDS})\s*\|(?:[^|]*\|)?\s*",
        rf"[\w.]+ - (?P<level>{_WORDS})(?: - |: )",
        rf"\[(?P<level>{_WORDS})(?:[:|][^\]]*)?\]\s*",
        rf"(?P<level>{_WORDS})(?::[\w.]+)?:\s*",
        rf"(?P<level>CRITICAL|FATAL|error|fatal|Fatal)(?: error)?(?::|\s*-|(?<=[A-Z]) )\s+(?=\S)",
        r"\[(?P<level>error|Error|fatal|warn|warning|info)\]:?\s*",
        r"[【\[]?(?P<level>错误|严重|致命|警告|信息)[】\]]?(?:[:：]\s*|\s+|(?<=[】\]]))",
        rf"(?P<level>{_WORDS}) (?=[a-z_]+(?:\.py)?: )",
        r"\[(?P<pid>\d{2,7})\]\s",
        r"(?:[\w.]+): (?=\[(?:ERROR|WARNING|INFO)\])",
        r"\[[\w./-]+\.(?:py|cc|cpp|h|c):\d+(?::\w+)?\]\s*(?:[A-Z]\w+\]\s)?",
        r"[\w./-]+\.(?:py|cc|cpp|h|c):\d+ - ",
        r"\[(?P<label>Stage-\d+)\]\s",
        # MindIE
        r"\[[a-z_]{2,20}\]\s(?=\[)",
    )
]
_ANY = re.compile("|".join(re.sub(r"\?P<\w+>", "?:", each.pattern) for each in _STARTS), re.ASCII)
"""Whether any of them is there: one search in place of forty."""

_MOST = 8
_WHO = re.compile(
    r"\((?:(?P<label>[A-Za-z_]\w*)(?: [\w.]+){0,3} )?pid=(?P<pid>\d+)|\((?P<ray>raylet|gcs_server)\)"
    r"|\[(?:rank|default)(?P<rank>\d+)\]|\[\d+,(?P<mpi>\d+)\]<std|\d\d (?P<parallel>[TDE]P\d+[ TDEP\d]*)\]"
    r"|(?:^|[> ])(?P<name>(?:worker|node|host|pod|rank)-?\d+|[\w.-]{1,60}(?= +\|\s)):?\s",
    re.ASCII,
)
_WHO_WITHIN = 120
_LEVELS = {"E": "error", "F": "error", "C": "error", "W": "warning", "I": "info"}
_RANKS = re.compile(
    r"RankID:(\d+)|rankId\[(\d+)\]|\[Rank (\d+)\]|\bRank (\d+): |\blocal_rank: (\d+)"
    r"|^\s*rank\s+: (\d+)|\buserRank\[(\d+)\]|discoverer.*rank:\s*(\d+)",
    re.ASCII,
)
_DEVICES = re.compile(r"Device:(\d+)|\(NPU (\d+);|[dD]evice[ _]?[iI]d[=:\[] ?(\d+)|Device\[(\d+)\]")
_WORKER = re.compile(r"Worker\w*?[_ ]TP(\d+) ?$", re.ASCII)
_PID = re.compile(r"\[?PID: ?(\d+)[\],]", re.ASCII)
_STAMP = re.compile(_DATE + r"[- T]" + _CLOCK, re.ASCII)


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
        if not found and match[0].strip(" |:>") not in _WORDS.split("|"):
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
