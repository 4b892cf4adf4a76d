# SPDX-License-Identifier: Apache-2.0
"""Reads logs of any size in bounded memory, and picks the lines that can matter.

Most lines of a log are like others but for their numbers, so a line that did not matter stands for
all that are like it. The others are searched for literals, of which each line that a pattern finds
has one: tests/test_needles.py makes such a line of every alternative of every pattern.
"""

from __future__ import annotations

import bisect
import os
import re
import stat
import sys
from typing import BinaryIO, Iterator, NamedTuple

from .prefix import plain

NEEDLES = (
    # Exceptions and codes, and then what the patterns need.
    *("xcept", "Timeout", "Failure", "Exit", "ret", "Code", "errcode", "errno", "status"),
    *("result", "positional", "EZ", "y peer [", "nsupport", "nly supp", "ompile g", "lready"),
    *("Aborted", "panic: ", "ADDRNOTA", "nrecogni", "VERIFY_F", "GraphOpt]"),
    *(
        "orrupted",
        "denie",
        "ImagePull",
        "toomanyr",
        "Docker d",
        "gated r",
        "Illegal i",
        "manifest u",
    ),
    *("not", "fail", "rror", "n't ", "evice", "sion", "has ", "require", "timeout", "able"),
    *("exce", "lease", "ound", "code", "led ", " out", " is ", "ufficien", "ERR0", "No "),
    *("nexpecte", " be ", "engi", "nvalid", "ned ", "no ", "type", "ev/davin", "eartbeat"),
    *("SIGBUS", "EZ10", "ut of ", "Unknown ", "E3000", "link ", ": nan", "_model_", "ed with "),
    *("iste", "drvRetCo", "FORCE ST", "Killed", "EI0001", "-8020", " ECC", "0501", "ize "),
    *("inimum", "ard ", "onfig -p", "celerate", "ionImpos", "-only fi", "ability ", "oom-kill"),
    *("received", "UCE ERRO", "InferSha", "nType:[S", "Info det", "ADDRINUS", "erTooLar"),
    *(" loss: N", "EZ3002", "pcie ", "EZ00", "E500", "ELF ", "bad_al", "Segment", "SIGSEGV"),
    *("pen files", "free", "alloc():", "process", "t start new thread", "pthread_"),
)
_CODE = re.compile(rb"E[A-Z1-9]\d{4}|RankID:|^ *rank +: ", re.MULTILINE)
_NUMBERED = re.compile(
    rb"err|code|\bret|result|status|return|fail|exit|kill|RankID|PID|signal|^\s*rank\s+:|NPU|: nan",
    re.IGNORECASE,
)
"""Lines whose numbers can mean something: one that is harmless says nothing about the next."""

_QUIET = re.compile(rb"\[(?:INFO|EVENT|DEBUG|TRACE)\]")
"""Lines of plog that are never looked at for errors."""

_DIGITS = b"0123456789abcdef"
"""Of decimal numbers, and of addresses."""

_MOST_SHAPES = 1 << 16
_BLOCK = 1 << 20
_LONGEST = 4096
_BEFORE = 12
_SUFFIXES = (".log", ".txt", ".out", ".err", ".jsonl", ".stdout", ".stderr")
STDIN = "-"


class LogError(Exception):
    """A log cannot be read; the message names it."""


class Hit(NamedTuple):
    """A line that can matter: its number from 1, its text, and the lines before it."""

    number: int
    text: str
    before: tuple[str, ...]


class Piece(NamedTuple):
    """A block of whole lines, the number of its first line, and the lines before it."""

    number: int
    lines: list[bytes]
    shapes: list[bytes]
    size: int
    before: list[bytes]

    def hit(self, index: int) -> Hit:
        """The line with this index in the block."""
        before = self.lines[max(0, index - _BEFORE) : index]
        if len(before) < _BEFORE:
            before = self.before[len(before) - _BEFORE :] + before
        texts = tuple(text_of(line) for line in before)
        return Hit(self.number + index, text_of(self.lines[index]), texts)


def log_paths(paths: list[str]) -> list[str]:
    """The files that ``paths`` name; of a folder all logs in it, at any depth.

    Raises:
        LogError: a path cannot be read, is no regular file, or a folder without logs.
    """
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
    """The log in blocks of about a MB. Lines that are longer than a block are cut.

    Raises:
        LogError: it cannot be read.
    """
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
            yield Piece(number, lines, shapes, len(block), before)
            number += len(lines) - 1
            before = (before + lines[:-1])[-_BEFORE:]
        if not data:
            return


class Sieve:
    """Picks the lines of blocks that can matter."""

    def __init__(self, needles: tuple[str, ...] = NEEDLES) -> None:
        self._needles = [needle.encode() for needle in needles]
        self._seen: set[bytes] = set()

    def hits(self, piece: Piece) -> Iterator[Hit]:
        """The lines that have a needle or a code, and are not like one that did not matter."""
        seen, shapes = self._seen, piece.shapes
        if len(seen) > _MOST_SHAPES:
            seen.clear()
        new = [index for index, shape in enumerate(shapes) if shape not in seen]
        chosen = self._chosen([piece.lines[index] for index in new])
        for place, index in enumerate(new):
            shape = shapes[index]
            if place not in chosen:
                seen.add(shape)
            elif shape not in seen:
                # It can have been forgotten since the block began.
                yield piece.hit(index)

    def _chosen(self, lines: list[bytes]) -> set[int]:
        """The places in ``lines`` of those with a needle."""
        data = b"\n".join(lines)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        found = {match.start() for match in _CODE.finditer(data)}
        for needle in self._needles:
            at = data.find(needle)
            while at >= 0:
                found.add(at)
                end = data.find(b"\n", at)
                at = data.find(needle, end) if end >= 0 else -1
        return {bisect.bisect_right(starts, at) - 1 for at in found}

    def forget(self, text: str) -> None:
        """Take no more lines like ``text``, which did not matter, unless its numbers can."""
        line = text.encode()
        if _QUIET.match(line) or not _NUMBERED.search(line):
            self._seen.add(line.translate(None, _DIGITS))


def text_of(line: bytes) -> str:
    """A line as text that can be shown, cut at a length that no message has."""
    return plain(line[:_LONGEST].decode("utf-8", "replace").rstrip("\r\n"))
