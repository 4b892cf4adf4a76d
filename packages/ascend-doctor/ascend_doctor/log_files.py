# SPDX-License-Identifier: Apache-2.0
"""The files of logs, and their lines in blocks of bounded size."""

from __future__ import annotations

import os
import stat
import sys
from typing import BinaryIO, Iterator, NamedTuple

from .prefix import plain

_DIGITS = b"0123456789abcdef"
"""Of decimal numbers, and of addresses."""

_BLOCK = 1 << 16
"""So small that the lines of a block stay in the cache of a processor: a third faster than a MB."""

_LONGEST = 4096
_BEFORE = 12
_SUFFIXES = (".log", ".txt", ".out", ".err", ".jsonl", ".stdout", ".stderr")
STDIN = "-"


class LogError(Exception):
    """A log cannot be read; the message names it."""


class Piece(NamedTuple):
    """A block of whole lines, the number of its first line, and the lines before it.

    ``shapes`` are the lines without digits, and ``kinds`` those that differ.
    """

    number: int
    lines: list[bytes]
    shapes: list[bytes]
    kinds: frozenset[bytes]
    size: int
    before: list[bytes]

    def before_line(self, index: int) -> list[bytes]:
        """The lines before the one with this index in the block."""
        lines = self.lines[max(0, index - _BEFORE) : index]
        return self.before[len(lines) - _BEFORE :] + lines if len(lines) < _BEFORE else lines


def log_paths(paths: list[str]) -> list[str]:
    """The files that ``paths`` name; of a folder all logs in it, at any depth."""
    found: list[str] = []
    for path in paths:
        if path == STDIN:
            found.append(path)
            continue
        try:
            mode = os.stat(path).st_mode
        except OSError as error:
            raise LogError(f"{path} cannot be read: {error.strerror}.") from error
        if stat.S_ISDIR(mode):
            inside = _logs_below(path)
            if not inside:
                raise LogError(f"{path} has no logs (files named *.log, *.txt, *.out or *.err).")
            found += inside
        elif stat.S_ISREG(mode):
            found.append(path)
        else:
            # A pipe would be waited for; "-" is for that.
            raise LogError(f"{path} is not a regular file.")
    return list(dict.fromkeys(found))


def _logs_below(folder: str) -> list[str]:
    found = []
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(here, name)
            if name.endswith(_SUFFIXES) and os.path.isfile(path):
                found.append(path)
    return found


def pieces(path: str) -> Iterator[Piece]:
    """The log in blocks of 64 KB. Lines that are longer than four are cut."""
    try:
        if path == STDIN:
            yield from _pieces(sys.stdin.buffer)
        else:
            with open(path, "rb") as file:
                yield from _pieces(file)
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror}.") from error


def _pieces(file: BinaryIO) -> Iterator[Piece]:
    number, rest = 1, b""
    before: list[bytes] = []
    while True:
        data = file.read(_BLOCK)
        whole = rest + data
        end = whole.rfind(b"\n") + 1 if data else len(whole)
        if data and not end and len(whole) < 4 * _BLOCK:
            rest = whole
            continue
        block = whole[: end or len(whole)]
        rest = whole[len(block) :]
        if block:
            lines = block.split(b"\n")
            # Without digits, also those of addresses, the lines of a loop are the same.
            shapes = block.translate(None, _DIGITS).split(b"\n")
            yield Piece(number, lines, shapes, frozenset(shapes), len(block), before)
            number += len(lines) - 1
            before = (before + lines[:-1])[-_BEFORE:]
        if not data:
            return


def text_of(line: bytes) -> str:
    """A line as text that can be shown, cut at a length that no message has."""
    return plain(line[:_LONGEST].decode("utf-8", "replace").rstrip("\r\n"))
