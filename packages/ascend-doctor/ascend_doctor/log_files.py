# SPDX-License-Identifier: Apache-2.0
"""The files of logs, and their lines in blocks of bounded size."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO, Iterator, NamedTuple

from .packed import STDIN, UNREADABLE, LogError, names_in, opened, unreadable
from .prefix import plain

DIGITS = b"0123456789abcdef"
"""Of decimal numbers, and of addresses."""

_BLOCK = 1 << 16
"""So small that the lines of a block stay in the cache of a processor: a third faster than a MB."""

_LONGEST = 4096
_BEFORE = 16
_SUFFIXES = (".log", ".txt", ".out", ".err", ".jsonl", ".stdout", ".stderr")
_PACKED = (".gz", ".bz2", ".xz", ".tgz", ".tar", ".zip")


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


def log_paths(paths: list[str]) -> tuple[list[str], list[str]]:
    """The logs that ``paths`` name, and what is wrong with those that are left out.

    Of a folder these are all logs in it, at any depth; of an archive, all its files.

    Raises:
        LogError: a path is no log, or all of them are empty.
    """
    found: list[str] = []
    left_out: list[str] = []
    for path in paths:
        inside = _inside(path)
        for each in inside:
            try:
                found += names_in(each)
            except LogError as error:
                if len(inside) == 1:
                    raise
                left_out.append(str(error))
    found = list(dict.fromkeys(found))
    full = [path for path in found if not _is_empty(path)]
    if not full:
        raise LogError(" ".join(left_out) or f"{', '.join(paths)} is empty: there is no log.")
    return full, left_out + [f"{path} is empty." for path in found if path not in set(full)]


def _inside(path: str) -> list[str]:
    """The files that ``path`` names."""
    if path == STDIN:
        return [path]
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise unreadable(path, error) from error
    if stat.S_ISDIR(mode):
        inside = _logs_below(path)
        if not inside:
            raise LogError(f"{path} has no logs (files named *.log, *.txt, *.out, *.err or *.gz).")
        return inside
    if not stat.S_ISREG(mode):
        # A pipe would be waited for; "-" is for that.
        raise LogError(f"{path} is not a regular file.")
    return [path]


def _is_empty(path: str) -> bool:
    try:
        with opened(path) as file:
            return not file.read(1)
    except UNREADABLE as error:
        raise unreadable(path, error) from error


def _logs_below(folder: str) -> list[str]:
    found = []
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(here, name)
            if name.endswith(_SUFFIXES + _PACKED) and os.path.isfile(path):
                found.append(path)
    return found


def pieces(path: str) -> Iterator[Piece]:
    """The log in blocks of 64 KB. Lines that are longer than four are cut."""
    try:
        with opened(path) as file:
            yield from _pieces(file)
    except UNREADABLE as error:
        raise unreadable(path, error) from error


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
            shapes = block.translate(None, DIGITS).split(b"\n")
            yield Piece(number, lines, shapes, frozenset(shapes), len(block), before)
            number += len(lines) - 1
            before = (before + lines[:-1])[-_BEFORE:]
        if not data:
            return


def lines_near(path: str, number: int, before: int, after: int) -> list[tuple[int, str]]:
    """The lines around the line ``number`` with their numbers; the log is read once more."""
    found: list[tuple[int, str]] = []
    at = 1
    with opened(path) as file:
        rest = b""
        for data in iter(lambda: file.read(_BLOCK), b""):
            ends = data.count(b"\n")
            if at + ends < number - before:
                # All but the last line are passed over, without being taken apart.
                rest, at = data[data.rfind(b"\n") + 1 :] if ends else rest + data, at + ends
                rest = rest[-_BLOCK:]
                continue
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            found += [(at + index, text_of(line)) for index, line in enumerate(lines)]
            at += len(lines)
            if at > number + after:
                break
        found.append((at, text_of(rest)))
    return [each for each in found if number - before <= each[0] <= number + after]


def text_of(line: bytes) -> str:
    """A line as text that can be shown, cut at a length that no message has.

    Of what a program has written over, as progress bars are, the last counts.
    """
    line = line[: 4 * _LONGEST].rstrip(b"\r\n").rpartition(b"\r")[2][:_LONGEST]
    return plain(line.decode("utf-8", "replace"))
