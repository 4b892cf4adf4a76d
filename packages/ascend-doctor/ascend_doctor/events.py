# SPDX-License-Identifier: Apache-2.0
"""Reads logs line by line, and collects the events in them, with rank, card, process and time."""

from __future__ import annotations

import re
from collections import Counter
from typing import Iterator, NamedTuple

from .causes import Cause, Found, causes, causes_in, codes_of
from .codes import catalogue, family, is_inner
from .log_files import Piece, pieces, text_of
from .owners import Values
from .prefix import Line, Time, process_of, read_line
from .sieve import ENOUGH, Hit, Kin, Sieve
from .signs import pattern

IGNORED, GUESSES, ABORT = (pattern(name) for name in ("ignored", "guesses", "abort"))
_CAUGHT, _ERROR, _STRUCTURE = (pattern(name) for name in ("caught", "error", "structure"))
_STRONG_WARNING, _LOOKS, _WAITS = (pattern(name) for name in ("strong-warning", "looks", "waits"))
_EXCEPTION, _SIGNED = pattern("line-exception"), pattern("line-signed")
_FRAME, _STATEMENT = pattern("line-frame"), pattern("line-statement")
_NUMBER = re.compile(r"\d+")
_OF_WHOM = re.compile(
    r"(?i)(\b(?:\w*rank|device|dev|card|pid|stream|task|port|time\w*)\w*\W{0,3})\d+"
    r"|\d+(?:\.\d+){3}(?:\(\d+\))?"
)
"""Numbers that say who wrote a line, or of whom it speaks, and not what happened."""

_MOST_KNOWN = 1 << 12
_ENOUGH_READ = 64
"""How many lines that differ only in such numbers are read in full."""

_KEPT = 4
_LIVING = 64
"""How many lines of a block are looked at for processes that go on."""
_MOST_SHAPES = 1 << 16
_NEAR = 14
_FOLLOWS = 4
_BAD_NUMBER = re.compile(r": (?:nan|NAN|inf)\b")


class Event(NamedTuple):
    """A cause in a line of a log. Numbers are -1 and ``time`` is None where the log has none."""

    cause: Cause
    values: Values
    file: int
    number: int
    text: str
    time: Time | None
    rank: int
    device: int
    pid: int
    stream: str
    weak: bool
    process: str
    """What tells lines of its process from those of others; empty if nothing does."""
    by: str
    """The part of the line that names the cause."""


class _Read(NamedTuple):
    """What a line says, whoever wrote it."""

    found: list[Found]
    caught: bool
    weak: bool
    looks: bool
    """Whether it looks like a failure, and has no cause."""


class _Good:
    """Finds the last lines of a block that say that all is well."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)
        any_number = re.sub(r"200|100|\[1-9\]", r"\\d+", pattern)
        self._like = re.compile(any_number)
        self._shapes: dict[bytes, bool] = {}
        """Whether lines of a shape can be such lines."""

    def last_lines(self, piece: Piece) -> dict[str, int]:
        """Process to the number of its last such line."""
        known, shapes = self._shapes, piece.shapes
        if len(known) > _MOST_SHAPES:
            known.clear()
        for shape in piece.kinds - known.keys():
            text = text_of(piece.lines[shapes.index(shape)])
            known[shape] = bool(self._like.search(text))
        good = {shape for shape in piece.kinds if known[shape]}
        places = [index for index, shape in enumerate(shapes) if shape in good] if good else []
        found: dict[str, int] = {}
        for index in reversed(places[-_LIVING:]):
            text = text_of(piece.lines[index])
            if self._pattern.search(text) and not _BAD_NUMBER.search(text):
                found.setdefault(process_of(text), piece.number + index)
        return found


class Reader:
    """Collects the events of logs."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.counts: dict[str, int] = {}
        self.size = 0
        self.goes_on: dict[tuple[int, str], int] = {}
        """File and process to the last line in which that process does its work."""
        self.installed: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.suspect: Event | None = None
        """The last line that looks like a failure and has no cause."""
        self.length: dict[int, int] = {}
        """File to the number of its last line."""
        self.ranks: dict[int, set[int]] = {}
        self._known: dict[tuple[str, str], _Read] = {}
        self._alike: Counter[tuple[str, str]] = Counter()
        self._places: dict[tuple[int, str, str], list[int]] = {}
        self._last: dict[str, Line] = {}
        self._signed: tuple[int, Line | None] = (0, None)
        names = ("goes-on", "installed", "ended")
        self._goes_on, self._installs, self._ends = (_Good(pattern(n).pattern) for n in names)
        self._file = 0

    def read(self, path: str) -> None:
        """Read one log."""
        self._last, self._signed = {}, (0, None)
        sieve, earlier = Sieve(), None
        for piece in pieces(path):
            self.size += piece.size
            for hit in sieve.hits(piece):
                if not self._line(hit):
                    sieve.forget(hit)
            self._repeat(sieve.unread(at_end=False))
            self._good(piece, earlier)
            earlier = piece
            self.length[self._file] = piece.number + len(piece.lines) - 1 - (not piece.lines[-1])
        self._repeat(sieve.unread(at_end=True))
        self._file += 1

    def _good(self, piece: Piece, earlier: Piece | None) -> None:
        """Note where the run goes on after an event, or had ended well before it."""
        if not self.events or self.events[-1].file != self._file:
            return
        first = next(each for each in self.events if each.file == self._file)
        for process, number in self._goes_on.last_lines(piece).items():
            self.goes_on[self._file, process] = number
        self.installed[self._file] = max(
            [self.installed.get(self._file, 0), *self._installs.last_lines(piece).values()]
        )
        if self._file not in self.ended:
            blocks = [piece] if first.number < piece.number else [*filter(None, (earlier, piece))]
            ended = [number for each in blocks for number in self._ends.last_lines(each).values()]
            if ended:
                self.ended[self._file] = max(ended)

    def _line(self, hit: Hit) -> bool:
        """Take the events of a line; whether it matters, so that those like it are counted."""
        line = read_line(hit.text)
        self._fill(hit, line)
        if line.rank >= 0:
            self.ranks.setdefault(self._file, set()).add(line.rank)
        framed = line.text[:2] == "  " and any(map(_FRAME.search, hit.before()[-1:]))
        if framed or _STATEMENT.match(line.text) or line.level == "info":
            return False
        # Ranks write the same, but for their numbers in front.
        key = (_NUMBER.sub("", hit.text[: -len(line.text) or None]), line.text)
        read = self._known.get(key)
        if read is None:
            alike = (key[0], _OF_WHOM.sub("", line.text))
            self._alike[alike] += 1
            read = self._known.get(alike) if self._alike[alike] > _ENOUGH_READ else None
        if read is None:
            read = self._known[key] = self._known[alike] = _read(hit, line)
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
            self._alike.clear()
        if read.looks:
            found = Found(causes()["error-line"], {}, line.text)
            self.suspect = self._event(found, hit, line, weak=line.level == "warning")
        for each in read.found:
            goes_on = read.caught and self._continues_warning(each, hit)
            self._add(each, hit, line, weak=read.weak or goes_on)
        return bool(read.found) or bool(read.looks and _WAITS.search(line.text))

    def _continues_warning(self, found: Found, hit: Hit) -> bool:
        """Whether the line belongs to a warning about the same cause just before it."""
        if not self.events:
            return False
        last = self.events[-1]
        near = last.file == self._file and 0 < hit.number - last.number <= _FOLLOWS
        return near and last.weak and last.cause.id == found.cause.id

    def _event(self, found: Found, hit: Hit, line: Line, *, weak: bool) -> Event:
        stream = _stream(line)
        last = self._last.get(stream)
        if not stream and not _EXCEPTION.match(line.text):
            last = self._near(hit.number)
        time = line.time or (last.time if last else None)
        rank = line.rank if line.rank >= 0 else last.rank if last else -1
        return Event(
            *(found.cause, found.values, self._file, hit.number, hit.text.strip(), time),
            *(rank, line.device, line.pid, stream, weak),
            process=process_of(hit.text),
            by=found.by[:200],
        )

    def _add(self, found: Found, hit: Hit, line: Line, *, weak: bool) -> None:
        event = self._event(found, hit, line, weak=weak)
        key = (self._file, event.stream, found.cause.id)
        if key not in hit.alike.places:
            hit.alike.places.append(key)
        self._put(key, event, 1)

    def _put(self, key: tuple[int, str, str], event: Event, count: int) -> None:
        self.counts[key[2]] = self.counts.get(key[2], 0) + count
        places = self._places.setdefault(key, [])
        if len(places) < _KEPT:
            places.append(len(self.events))
            self.events.append(event)
        else:
            # The first ones say what began it, the last one whether the run went on.
            self.events[places[-1]] = event

    def _repeat(self, kinds: list[Kin]) -> None:
        """Count the lines that were not read, and note the last one of each kind."""
        for alike in kinds:
            text = text_of(alike.line).strip()
            if self.suspect and text == self.suspect.text and _WAITS.search(text):
                self.suspect = self.suspect._replace(number=alike.number)
            time = read_line(text).time if alike.places else None
            for key in alike.places:
                like = self.events[self._places[key][-1]]
                event = like._replace(number=alike.number, text=text, time=time or like.time)
                self._put(key, event, alike.count - ENOUGH)

    def _near(self, number: int) -> Line | None:
        """The line with a process or rank just before the line ``number``."""
        at, line = self._signed
        return line if line and number - at <= _FOLLOWS else None

    def _fill(self, hit: Hit, line: Line) -> None:
        """Give events near this line its time and rank: torch_npu writes these afterwards."""
        if line.time is None and line.rank < 0:
            return
        stream, signed = _stream(line), bool(_SIGNED.search(hit.text))
        if stream:
            self._last[stream] = line
            if signed:
                self._signed = hit.number, line
        for index in range(len(self.events) - 1, max(-1, len(self.events) - 9), -1):
            event = self.events[index]
            if event.file != self._file or hit.number - event.number > _NEAR:
                break
            if _same_process(event, line, stream, signed=signed):
                self.events[index] = event._replace(
                    time=event.time or line.time,
                    rank=event.rank if event.rank >= 0 else line.rank,
                    pid=event.pid if event.pid >= 0 else line.pid,
                    device=event.device if event.device >= 0 else line.device,
                )


def _read(hit: Hit, line: Line) -> _Read:
    """What a line says: its causes, or that it is an exception, a code or an error without one."""
    if IGNORED.search(hit.text):
        return _Read([], caught=False, weak=False, looks=False)
    loud = _EXCEPTION.match(line.text) or _STRUCTURE.match(line.text)
    caught = line.level != "error" and not loud
    mild = line.level == "warning" or (caught and _CAUGHT.search(hit.text))
    weak = bool(mild) and not _STRONG_WARNING.search(hit.text)
    text = GUESSES.split(hit.text, 1)[0]
    found = causes_in(text, hit.before)
    if not weak and not found:
        ended = _EXCEPTION.match(line.text) or ABORT.search(line.text)
        found = [*_bare(text, exception=bool(ended))]
        error = line.level == "error" and _ERROR.match(line.text)
        if not found and (error or _STRUCTURE.match(line.text)):
            found = [Found(causes()["error-line"], {}, line.text)]
    return _Read(found, caught, weak, looks=not found and bool(_LOOKS.search(line.text)))


def unexplained(event: Event) -> Event:
    """``event`` without its cause, as an exception or a line that the program calls an error."""
    named = _EXCEPTION.match(read_line(event.text).text)
    return event._replace(cause=causes()["exception" if named else "error-line"], values={})


def _same_process(event: Event, line: Line, stream: str, *, signed: bool) -> bool:
    """Whether a line can be of the process of an event before it."""
    if event.stream != stream and (event.stream or not signed):
        return event.pid >= 0 and event.pid == line.pid
    pairs = ((event.device, line.device), (event.rank, line.rank))
    return not any(one >= 0 and other >= 0 and one != other for one, other in pairs)


def _stream(line: Line) -> str:
    """What tells the lines of a process from those of others; empty if nothing does."""
    if line.label or line.rank >= 0:
        return line.label or f"rank{line.rank}"
    return f"pid{line.pid}" if line.pid >= 0 else ""


def _bare(text: str, *, exception: bool) -> Iterator[Found]:
    """The fallbacks: codes and exceptions without a known cause."""
    table = causes()
    codes = [code for code in codes_of(text) if not code.startswith("ERR")]
    for code in codes:
        if is_inner(code):
            yield Found(table["inner"], {"code": code, "family": family(code)}, code)
            continue
        row, belongs = catalogue().get(code), family(code)
        if row:
            values = {"code": code, "meaning": row.meaning, "family": belongs, "source": row.source}
            yield Found(table["code"], values, code)
        else:
            values = {"code": code, "family": f" (it looks like: {belongs})" if belongs else ""}
            yield Found(table["code-unknown"], values, code)
    if exception and not [code for code in codes if not is_inner(code)]:
        yield Found(table["exception"], {}, text)
