# SPDX-License-Identifier: Apache-2.0
"""Finds known errors in a log, of which at most 64 MB are read: its beginning and its end."""

from __future__ import annotations

import os
import re
import stat
from typing import BinaryIO, Iterator, NamedTuple, Pattern

from .table import Finding

HEAD = 16 << 20
TAIL = 48 << 20
_CHUNK = 1 << 20
_EDGE = 1 << 12
_SHOWN = 300

_SEPARATORS = re.compile(r"\([^()]*\)[?*]?|\[[^\]]*\]|\\[bBdDsSwW]")
_OPTIONAL = re.compile(r".(?:[?*]|\{[\d,]+\})")


class LogError(Exception):
    """A log cannot be read; the message names it."""


class Hit(NamedTuple):
    """A known error in a log: how often it is there, and the first line with its byte offset."""

    id: str
    times: int
    offset: int
    line: str


class LogReport(NamedTuple):
    """The known errors, the first in the log first, and how much of it was read."""

    hits: tuple[Hit, ...]
    size: int
    read: int


class Matcher:
    """Finds one known error. Where none of its literals is, the pattern is not tried."""

    def __init__(self, pattern: str) -> None:
        self.literals = [literal.encode() for literal in literals_of(pattern)]
        self._pattern: Pattern[bytes] = re.compile(pattern.encode())

    def starts(self, block: bytes) -> Iterator[int]:
        """Where it is in ``block``."""
        if any(literal in block for literal in self.literals):
            yield from (match.start() for match in self._pattern.finditer(block))


def literals_of(pattern: str) -> list[str]:
    """Texts of which one is wherever ``pattern`` is found: the longest of each alternative."""
    found = []
    for alternative in _SEPARATORS.sub("\0", pattern).split("|"):
        literal = _OPTIONAL.sub("\0", re.sub(r"\\(.)", r"\1", alternative))
        found.append(max(literal.split("\0"), key=len))
    return found


def search_log(path: str, table: dict[str, Finding]) -> LogReport:
    """The known errors in the file ``path``.

    Raises:
        LogError: it cannot be read.
    """
    matchers = {row.id: Matcher(row.log) for row in table.values() if row.log}
    counts: dict[str, int] = {}
    first: dict[str, tuple[int, str]] = {}
    read = 0
    try:
        # A pipe would be waited for.
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise LogError(f"{path} is not a regular file.")
        with open(path, "rb") as file:
            for offset, block, least, most in _blocks(file, status.st_size):
                read += most - least
                for name, matcher in matchers.items():
                    for start in matcher.starts(block):
                        if least <= start < most:
                            counts[name] = counts.get(name, 0) + 1
                            first.setdefault(name, (offset + start, _line(block, start)))
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror}.") from error
    hits = [Hit(name, counts[name], *first[name]) for name in counts]
    hits.sort(key=lambda hit: hit.offset)
    return LogReport(tuple(hits), status.st_size, read)


def _blocks(file: BinaryIO, size: int) -> Iterator[tuple[int, bytes, int, int]]:
    """Pieces that overlap: offset, text, and between which places in it an error has to begin."""
    parts = [(0, size)] if size <= HEAD + TAIL else [(0, HEAD), (size - TAIL, size)]
    for begin, end in parts:
        file.seek(begin)
        offset, block, least = begin, b"", 0
        while True:
            at = offset + len(block)
            piece = file.read(min(_CHUNK, end - at)) if at < end else b""
            block += piece
            if not piece:
                yield offset, block, least, len(block)
                break
            most = len(block) - _EDGE
            if most > least:
                yield offset, block, least, most
                kept = max(0, most - _EDGE)
                offset, block, least = offset + kept, block[kept:], most - kept


def _line(block: bytes, at: int) -> str:
    start = max(block.rfind(b"\n", 0, at) + 1, at - _SHOWN)
    end = block.find(b"\n", at)
    text = block[start : len(block) if end < 0 else end][: 2 * _SHOWN].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else " " for c in text).strip()[:_SHOWN]
