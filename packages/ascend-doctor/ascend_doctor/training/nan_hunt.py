# SPDX-License-Identifier: Apache-2.0
"""Finds the operator that made the first inf or NaN, over all ranks of a step.

A value is born where the inputs of an operator are better than its output; every later operator
only passes it on. Of a communication operator the inputs of all its ranks count. Ranks have no
common clock: the rank with fewer communication operators before its event comes first, as in
msprobe's own analysis (mindstudio-probe 8.3.0, docs/35.nan_analyze.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Mapping, Sequence

from ascend_doctor.problems import ProblemError, joined

from .dumps import (
    Dump,
    Traced,
    call_stack,
    find_dumps,
    modules_around,
    read_dump,
)
from .operators import Level
from .trace import Event, Kind


@dataclass(frozen=True)
class First:
    """The first event of a rank.

    Attributes:
        senders: for a value that was received, the ranks that had it before.
        missing: the ranks of the same collective operator that have no dump.
    """

    traced: Traced
    event: Event
    senders: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()

    @property
    def order(self) -> tuple[int, bool, int, int, int]:
        """What comes first: a rank that has only received it comes after the others."""
        received = self.event.kind is Kind.RECEIVED
        dump = self.traced.dump
        return dump.step, received, self.event.communications, self.event.number, dump.rank


@dataclass(frozen=True)
class Hunt:
    """What was found in all dumps.

    Attributes:
        first: where it began; None if all is finite.
        modules: the modules around that operator, innermost first.
        called_by: the lines of the program from which it was called.
        ranks: the first event of each rank in each step that has one.
        problems: dumps that could not be read, or only in part.
    """

    dumps: tuple[Traced, ...]
    first: First | None
    modules: tuple[str, ...]
    called_by: tuple[str, ...]
    ranks: tuple[First, ...]
    problems: tuple[str, ...]

    @property
    def saturated(self) -> tuple[Event, ...]:
        """Operators that write the largest number of a type, which may stand for inf."""
        return tuple(event for each in self.dumps for event in each.trace.suspects)


def hunt(path: Path) -> Hunt:
    """Search the dump at ``path``, or all dumps below it."""
    dumps: list[Traced] = []
    errors: list[ProblemError] = []
    for dump in find_dumps(path):
        try:
            dumps.append(read_dump(dump))
        except ProblemError as error:
            errors.append(error)
    if not dumps:
        raise joined(errors)
    ranks: list[First] = []
    for _, group in groupby(dumps, key=lambda traced: traced.dump.step):
        by_rank = {traced.dump.rank: traced for traced in group}
        firsts = (_first(each, by_rank) for each in by_rank.values())
        ranks += [first for first in firsts if first]
    first = min(ranks, key=lambda each: each.order, default=None)
    name = first.event.operator.name if first else ""
    return Hunt(
        dumps=tuple(dumps),
        first=first,
        modules=modules_around(first.traced.dump, {name})[name] if first else (),
        called_by=call_stack(first.traced.dump, name) if first else (),
        ranks=tuple(ranks),
        problems=(
            *(str(problem) for error in errors for problem in error.problems),
            *(f"{each.dump.path}: {each.problem}." for each in dumps if each.problem),
        ),
    )


def _first(traced: Traced, by_rank: Mapping[int, Traced]) -> First | None:
    events = traced.trace.events
    if not events:
        return None
    event = _innermost(traced.dump, events)
    if event.kind is not Kind.RECEIVED:
        return First(traced=traced, event=event)
    operator = event.operator
    if operator.source is not None and operator.source != traced.dump.rank:
        return First(traced=traced, event=event, senders=(operator.source,))
    others = {*(operator.ranks or by_rank)} - {traced.dump.rank}
    senders = sorted(
        rank
        for rank in others & by_rank.keys()
        if by_rank[rank].trace.sent.get(operator.name, Level.FINITE) >= Level.INF
    )
    missing = sorted(others - by_rank.keys())
    if not senders and not missing:
        # The operands of all ranks were finite, so their sum is not.
        event = replace(event, kind=Kind.BORN)
    return First(traced=traced, event=event, senders=tuple(senders), missing=tuple(missing))


def _innermost(dump: Dump, events: Sequence[Event]) -> Event:
    """The first event; if it is a module, the first operator within it that is the cause.

    Before msprobe 26, a module stands in the dump before what it calls.
    """
    first = events[0]
    if not first.operator.is_module:
        return first
    around = modules_around(dump, {event.operator.name for event in events})
    for event in events[1:]:
        name = event.operator.name
        within = first.operator.name in around[name] or _is_part(name, first.operator.name)
        if within and event.kind is not Kind.RECEIVED:
            first = event
            if not first.operator.is_module:
                break
    return first


def _is_part(name: str, module: str) -> bool:
    """Whether the names say that ``name`` is a module within ``module``.

    A name is ``Module.PATH.CLASS.forward.NUMBER``.
    """
    path, direction = _path(module)
    other, same = _path(name)
    return direction == same and other.startswith(f"{path}.") and other != path


def _path(name: str) -> tuple[str, str]:
    words = name.split(".")
    return (".".join(words[:-3]), words[-2]) if len(words) > 3 else (name, "")
