# SPDX-License-Identifier: Apache-2.0
"""Picks the lines of logs that are worth reading in full.

Most lines of a log are like others but for their numbers. One that did not matter stands for all
that are like it; of those that did, the first few are read, and the others counted, unless a number
in them means something and is new. Lines of a new kind are searched for literals, of which each
line that a pattern finds has one: tests/test_needles.py makes such a line of every alternative of
every pattern.
"""

from __future__ import annotations

import bisect
import re
from functools import partial
from operator import itemgetter
from typing import Callable, Iterator, NamedTuple

from .log_files import Piece, text_of
from .signs import words

NEEDLES = words("needles")
_CODE = re.compile(rb"E[A-Z1-9]\d{4}|RankID:|^ *rank +: ", re.MULTILINE)
_NUMBERED = re.compile(
    rb"err|code|\bret|result|status|return|fail|exit|kill|RankID|PID|signal|^\s*rank\s+:|NPU|: nan",
    re.IGNORECASE,
)
"""Lines whose numbers can mean something: one that is harmless says nothing about the next."""

_QUIET = re.compile(rb"\[(?:INFO|EVENT|DEBUG|TRACE)\]")
"""Lines of plog that are never looked at for errors."""

_MEANT = re.compile(
    rb"(?:err\w*|code\w*|ret\w*|result|status|fail\w*|exit\w*|kill\w*|RankID|PID|signals?|rank)"
    rb"[^\w\n]{0,4}(?:is|of|code)?[^\w\n]{0,4}$",
    re.IGNORECASE,
)
"""What is before a number that says what happened, or to whom."""

_RUNS = re.compile(rb"\d+")
_WINDOW = 24
_BESIDE = 6
"""How much of the text before a number tells it from others."""

ENOUGH = 4
"""How many lines of a kind are read in full."""

_MOST_SHAPES = 1 << 16
_MOST_KIN = 1 << 13
_LONGEST = 4096


class Kin:
    """Lines that are alike, and have the same numbers where these mean something."""

    __slots__ = ("count", "line", "number", "places")

    def __init__(self) -> None:
        self.count = 0
        self.number = 0
        self.line = b""
        """The last line that was only counted, and its number."""
        self.places: list[tuple[int, str, str]] = []
        """Where the reader put what it found in such a line."""


class Hit(NamedTuple):
    """A line that can matter: its number from 1, its text, and its alike.

    ``before`` gives the lines before it, which few lines need.
    """

    number: int
    text: str
    before: Callable[[], tuple[str, ...]]
    shape: bytes
    alike: Kin


class _Shape:
    """Lines that are the same but for their numbers."""

    def __init__(self, line: bytes) -> None:
        runs = [*_RUNS.finditer(line)]
        windows = [line[max(0, run.start() - _WINDOW) : run.start()] for run in runs]
        # The first number is often that of a process or rank.
        meant = [at == 0 or bool(_MEANT.search(window)) for at, window in enumerate(windows)]
        while meant and not meant[-1]:
            meant.pop()
        parts = [rb"\D*(\d+)" if each else rb"\D*\d+" for each in meant]
        self._numbers = re.compile(b"".join(parts)).match
        self.alike: dict[tuple[bytes, ...], Kin] = {}
        self.quick: dict[int, tuple[Callable[[bytes], object], dict[object, Kin]]] = {}
        """Length of lines to what picks the places of the numbers, and the kinds by these.

        Nearly all lines have their numbers where others of their length have them, and this takes
        a quarter of the time.
        """

    def kin(self, line: bytes) -> Kin:
        """The lines that are like this one."""
        match = self._numbers(line)
        found = self.alike.setdefault(match.groups() if match else (line,), Kin())
        if match and match.re.groups and len(self.quick) < _MOST_KIN:
            spans = [match.span(at + 1) for at in range(match.re.groups)]
            beside = [slice(max(0, start - _BESIDE), end + 1) for start, end in spans]
            pick, known = self.quick.setdefault(len(line), (itemgetter(*beside), {}))
            if len(known) < _MOST_KIN:
                known[pick(line)] = found
        return found


def _texts_before(piece: Piece, index: int) -> tuple[str, ...]:
    return tuple([text_of(each) for each in piece.before_line(index)])


_NONE: tuple[Callable[[bytes], object], dict[object, Kin]] = (len, {})


class Sieve:
    """Picks the lines of blocks that can matter."""

    def __init__(self, needles: tuple[str, ...] = NEEDLES) -> None:
        self._needles = [needle.encode() for needle in needles]
        self._quiet: set[bytes] = set()
        self._known: dict[bytes, _Shape] = {}

    def hits(self, piece: Piece) -> Iterator[Hit]:
        """The lines that have a needle or a code, and are not like others that were read."""
        shapes, lines, known = piece.shapes, piece.lines, self._known
        if len(self._quiet) > _MOST_SHAPES:
            self._quiet.clear()
        loud = piece.kinds - self._quiet
        if not loud:
            return
        unread = [index for index, shape in enumerate(shapes) if shape in loud]
        chosen: set[int] = set()
        new = loud - known.keys()
        if new:
            chosen = self._chosen(lines, [index for index in unread if shapes[index] in new])
            self._quiet |= new - {shapes[index] for index in chosen}
        for index in unread:
            shape, line = shapes[index], lines[index]
            group = known.get(shape)
            if group is None:
                if index not in chosen or shape in self._quiet:
                    continue
                group = known[shape] = _Shape(line)
            pick, by_places = group.quick.get(len(line), _NONE)
            alike = by_places.get(pick(line)) or group.kin(line)
            alike.count += 1
            if alike.count > ENOUGH:
                alike.number, alike.line = piece.number + index, line[:_LONGEST]
            else:
                before = partial(_texts_before, piece, index)
                yield Hit(piece.number + index, text_of(line), before, shape, alike)

    def _chosen(self, lines: list[bytes], places: list[int]) -> set[int]:
        """Those of the lines at ``places`` that have a needle."""
        some = [lines[place] for place in places]
        data = b"\n".join(some)
        starts = [0]
        for line in some:
            starts.append(starts[-1] + len(line) + 1)
        found = {match.start() for match in _CODE.finditer(data)}
        for needle in self._needles:
            at = data.find(needle)
            while at >= 0:
                found.add(at)
                end = data.find(b"\n", at)
                at = data.find(needle, end) if end >= 0 else -1
        return {places[bisect.bisect_right(starts, at) - 1] for at in found}

    def forget(self, hit: Hit) -> None:
        """Take no more lines like this one, which did not matter, unless its numbers can."""
        line = hit.text.encode()
        if _QUIET.match(line) or not _NUMBERED.search(line):
            self._quiet.add(hit.shape)
            self._known.pop(hit.shape, None)

    def unread(self, *, at_end: bool) -> list[Kin]:
        """The kinds of which lines were only counted, by their last line; they begin anew then.

        Before the end there are none, unless too many are known.
        """
        if not at_end and sum(len(shape.alike) for shape in self._known.values()) < _MOST_KIN:
            return []
        kinds = [alike for shape in self._known.values() for alike in shape.alike.values()]
        self._known.clear()
        return sorted((alike for alike in kinds if alike.number), key=lambda alike: alike.number)
