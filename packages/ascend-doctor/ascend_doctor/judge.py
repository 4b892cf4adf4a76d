# SPDX-License-Identifier: Apache-2.0
"""From the events of all ranks to the one that the others follow from."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from .causes import KINDS
from .events import ABORT, Event, Reader
from .prefix import Time
from .signs import pattern

_OPTIONAL = {
    *(
        "cuda-package",
        "library-missing",
        "package-range",
        "torch-library",
        "triton",
        "cann-torch-npu",
    ),
    *("custom-operator", "host-library", "symbol-missing", "mindspore-310p", "chip-not-in-cann"),
    *("package-gone", "python-gone"),
}
"""Causes whose warnings are of packages that a program tries and does without."""

_ENDS = {"host-memory", "native-crash"}
"""How a process ended: an exception before it says more, unless the end itself says why."""

_BARE = ("exception", "code", "code-unknown")
_VAGUE = {"error-line", "other-rank"}
_SAY_LITTLE = {"inner", "error-line"}
"""What is worth a line only where there is nothing else."""

_NEAR = 40
"""How many lines after a symptom its reason can be."""

_TOLD = re.compile(r"\b(?!E[EZ])E[A-Z0-9]\d{4}: (?!Inner|The argument is invalid\.?$)\S.{30}")
"""A code of CANN for users, whose message says what is wrong."""

_STATES, _EXPECTS = pattern("states"), pattern("expects")
_LAST, _EXCERPT = 1, 3
"""With which lines a log ends; what is no longer is a part that somebody chose."""

_CHAIN = 4
"""How many lines before its end the first one of a chain of errors can be."""

_ON_THE_CARD = {"operator-crash", "operator-timeout", "aicpu-failed", "operator-arguments"}
"""Symptoms that do not follow from a reason that is told later."""

_LAUNCHERS = {"raylet", "gcs_server"}
"""Processes that report what became of others, and start them again."""

_INSTALLING = {
    *("network", "dev-wheel-index", "package-range", "build-failed", "error-line"),
    "torch-replaced",
}
"""What an installer can overcome."""

_MISSED = {"header-missing", "link-library", "link-symbol", "chip-not-in-cann", "build-memory"}
"""Why a build fails, where that is told after the line that it failed."""

_SAYS_WHY = re.compile(r"[Mm]emory|oom|OOM|bad_alloc")


_OPERATOR_MISSING = re.compile(
    r"'_OpNamespace' '\w+' object has no attribute|No module named '[\w.]+_C'"
)
_COMPILED = re.compile(r"_C\b|\.so\b")


class Outcome(NamedTuple):
    """What logs say: whether the run failed, the root, what follows, and notes, with counts."""

    failed: bool
    root: Event | None
    follows: tuple[Event, ...]
    notes: tuple[Event, ...]
    counts: dict[str, int]
    size: int
    suspect: Event | None = None
    """The last line that looks like a failure, if no cause is known."""


def judge_logs(paths: list[str]) -> Outcome:
    """What the logs ``paths`` say together."""
    reader = Reader()
    for path in paths:
        reader.read(path)
    return _outcome(reader)


def _outcome(reader: Reader) -> Outcome:
    in_order = _with_ranks(reader)
    events = [each for each in in_order if each.cause.kind != "note"]
    notes = [each for each in in_order if each.cause.kind == "note"]
    alive = [each for each in events if not _recovered(each, reader)]
    if alive and all(each.cause.id in _VAGUE or _rank_of(each) in (2, 3) for each in alive):
        # A launcher that speaks last: the reason can be before the last good line.
        alive = [each for each in events if not each.weak]
    failing = [each for each in alive if not each.weak] or _telling(alive)
    lines = [each for each in failing if each.cause.id == "error-line"]
    if any(each.cause.id not in _VAGUE for each in failing):
        failing = [each for each in failing if each.cause.id != "error-line"]
    if not failing and not alive and reader.suspect and _ends_with(reader.suspect, reader):
        failing = alive = [reader.suspect]
    if not failing:
        kept = {id(each) for each in alive}
        over = [each for each in events if id(each) not in kept]
        harmless = tuple(_once([*notes, *over]))
        suspect = _suspect(alive, reader)
        return Outcome(False, None, (), harmless, reader.counts, reader.size, suspect)
    root = _root(failing, alive)
    root = next(_long_before(root, failing), root)
    root = next(_reasons_of_an_end(root, [*failing, *lines], alive), root)
    root = next(_not_loaded(root, events), root)
    root = next(_why_not_built(root, failing), root)
    root = next(_first_of_chain(root, lines), root)
    silent = {root.cause.id, *_SAY_LITTLE}
    follows = [each for each in _once(alive) if each.cause.id not in silent]
    notes = [each for each in notes if each.cause.id != root.cause.id]
    return Outcome(True, root, tuple(follows), tuple(_once(notes)), reader.counts, reader.size)


def _suspect(alive: list[Event], reader: Reader) -> Event | None:
    """The last line that looks like a failure: a warning with a cause, or one without any."""
    last = [*alive, *([reader.suspect] if reader.suspect else [])]
    return max(last, key=lambda each: (each.file, each.number), default=None)


def _ends_with(last: Event, reader: Reader) -> bool:
    """Whether a log ends with a line that states a failure, or has little besides."""
    length = reader.length[last.file]
    near = last.number > length - _LAST or length < _EXCERPT
    states = _STATES.match(last.by) or length == last.number <= _EXCERPT
    return bool(near and states and not last.weak and not _recovered(last, reader))


def _recovered(event: Event, reader: Reader) -> bool:
    """Whether its process went on with its work after the event, or had ended well before it."""
    places = [(event.file, event.process)]
    if event.process in _LAUNCHERS or (not event.process and event.cause.id != "exception"):
        places = [key for key in reader.goes_on if key[0] == event.file]
    if event.number <= max((reader.goes_on.get(each, 0) for each in places), default=0):
        return True
    if event.cause.id in _INSTALLING and event.number <= reader.installed.get(event.file, 0):
        return True
    ended = reader.ended.get(event.file, 0)
    return bool(0 < ended < event.number and (_rank_of(event) > 1 or event.weak))


def _telling(events: list[Event]) -> list[Event]:
    """Warnings that say what is wrong, where nothing else does."""
    return [
        each
        for each in events
        if each.cause.kind == "root"
        and each.values
        and each.cause.id not in _OPTIONAL
        and "No module named" not in each.text
    ]


def _rank_of(event: Event) -> int:
    return KINDS.index(event.cause.kind)


def _root(failing: list[Event], alive: list[Event]) -> Event:
    """The event that the others follow from."""
    least = min(map(_rank_of, failing))
    if least > 1:
        weak = _telling([each for each in alive if each.weak])
        earlier = _exception_before(failing)
        if weak or earlier:
            return weak[0] if weak else earlier[0]
    telling = [each for each in failing if _rank_of(each) <= max(1, least)]
    firsts = {rank: min(times) for rank, times in _times(telling).items() if times}
    if len(firsts) > 1 and firsts.keys() == {each.rank for each in telling} - {-1}:
        first = min(firsts, key=lambda rank: firsts[rank])
        telling = [each for each in telling if each.rank in (first, -1)]
    best = min(map(_rank_of, telling))
    same = [each for each in telling if _rank_of(each) == best]
    ranks, files = {each.rank for each in same} - {-1}, {each.file for each in same}
    timed = (len(ranks) > 1 or len(files) > 1) and all(each.time for each in same)
    return min(same, key=lambda each: _order(each, timed=timed))


def _long_before(root: Event, events: list[Event]) -> Iterator[Event]:
    """What failed on the card long before: of a second start, say, whose port is still in use."""
    for each in events:
        before = each.file == root.file and root.number - each.number > _NEAR
        same_rank = each.rank == root.rank or -1 in (each.rank, root.rank)
        if before and same_rank and each.cause.id in _ON_THE_CARD:
            yield each


def _reasons_of_an_end(end: Event, events: list[Event], alive: list[Event]) -> Iterator[Event]:
    """What was before a process was killed or crashed, if the end itself has no reason."""
    if end.cause.id in _ENDS:
        warned = _telling([each for each in alive if each.weak and each.file == end.file])
        yield from (each for each in warned if each.number < end.number)
    ended = end.cause.id in _ENDS or (end.cause.id == "exception" and ABORT.search(end.text))
    if ended and not _SAYS_WHY.search(end.text):
        for each in events:
            before = (each.file, each.number) < (end.file, end.number)
            same_rank = each.rank == end.rank or -1 in (each.rank, end.rank)
            if before and same_rank and each.cause.id in (*_BARE, "error-line"):
                yield each


def _not_loaded(root: Event, events: list[Event]) -> Iterator[Event]:
    """Why a compiled extension was not loaded, if one of its operators is what is missing."""
    if _OPERATOR_MISSING.search(root.text):
        for each in events:
            before = (each.file, each.number) < (root.file, root.number)
            if before and each.weak and _COMPILED.search(each.text) and "library" in each.values:
                yield each


def _why_not_built(root: Event, failing: list[Event]) -> Iterator[Event]:
    """What a build missed, if the root only says that it failed."""
    if root.cause.id == "build-failed":
        yield from (each for each in failing if each.cause.id in _MISSED and each.file == root.file)


def _first_of_chain(root: Event, lines: list[Event]) -> Iterator[Event]:
    """The line just before ``root`` with a name and what was expected, if the root has neither."""
    if root.cause.kind == "wait" or root.cause.id == "hccl-config":
        for each in lines:
            near = each.file == root.file and 0 < root.number - each.number <= _CHAIN
            if near and _EXPECTS.search(each.text):
                yield each


def _times(events: list[Event]) -> dict[int, list[Time]]:
    """Rank to the times of its events, of those that have a rank."""
    found: dict[int, list[Time]] = {}
    for each in events:
        if each.rank >= 0:
            found.setdefault(each.rank, []).extend([each.time] if each.time else [])
    return found


def _exception_before(events: list[Event]) -> list[Event]:
    """Exceptions of ranks that did not wait for others, before those that did.

    Where an exception has no time, its place in the log says what was before.
    """
    waiting = [each for each in events if each.cause.kind in ("echo", "wait")]
    ranks, times = {each.rank for each in waiting}, [each.time for each in waiting if each.time]
    places = [(each.file, each.number) for each in waiting]
    bare = [each for each in events if each.cause.id in _BARE]
    found = [
        each
        for each in bare
        if each.rank not in {*ranks, -1}
        and (
            each.time < min(times)
            if each.time and times
            else (each.file, each.number) < min(places, default=(0, 0))
        )
    ]
    return sorted(found, key=lambda each: (each.time or (), each.file, each.number))


def _order(event: Event, *, timed: bool) -> tuple[object, ...]:
    """By time where all have one and they are of several files or ranks; else as they were read."""
    return (_bare_order(event), event.time or ()) if timed else (_bare_order(event),)


def _bare_order(event: Event) -> int:
    order = ("told", "exception", "code-unknown", "code", "inner", "error-line", "other-rank")
    told = event.cause.id == "code" and _TOLD.search(event.text)
    return order.index("told" if told else event.cause.id) if event.cause.kind == "bare" else 0


def _with_ranks(reader: Reader) -> list[Event]:
    """The events in their order, with the rank that others of their process or card name."""
    known: dict[tuple[int, str, int], int] = {}
    for each in reader.events:
        if each.rank >= 0:
            known.update(dict.fromkeys(_signs(each), each.rank))
    found = []
    for each in sorted(reader.events, key=lambda each: (each.file, each.number)):
        own = [known[sign] for sign in _signs(each) if sign in known]
        only = reader.ranks.get(each.file, set())
        own += [*only] if len(only) == 1 else []
        found.append(each._replace(rank=own[0]) if each.rank < 0 and own else each)
    return found


def _signs(event: Event) -> list[tuple[int, str, int]]:
    pairs = (("pid", event.pid), ("device", event.device))
    return [(event.file, name, number) for name, number in pairs if number >= 0]


def _once(events: list[Event]) -> Iterator[Event]:
    """The first event of each cause."""
    seen = set()
    for event in events:
        if event.cause.id not in seen:
            seen.add(event.cause.id)
            yield event
