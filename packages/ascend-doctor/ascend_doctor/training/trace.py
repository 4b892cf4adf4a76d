# SPDX-License-Identifier: Apache-2.0
"""Follows inf and NaN through the operators of one rank, in the order of the dump."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Iterable

from ascend_doctor.plain_text import TextEnum

from .harmless import Reason, harmless
from .operators import Level, Operator, Tensor, highest

_MOST = 10_000
"""How many events of a rank are kept."""


class Kind(TextEnum):
    """Where an operator has its inf or NaN from."""

    BORN = "born"
    """Its inputs were better than its output."""
    ARRIVED = "arrived"
    """An input has it, and no operator of the dump has written it."""
    RECEIVED = "received"
    """A communication operator, whose inputs on this rank were better than its output."""
    UNKNOWN = "unknown"
    """The dump has no inputs."""


@dataclass(frozen=True)
class Event:
    """An operator at which inf or NaN appears.

    Attributes:
        number: its place in the dump, from 0.
        communications: how many communication operators were before it, which tells ranks that
            have no common clock apart.
        tensor: the worst tensor.
    """

    kind: Kind
    operator: Operator
    number: int
    communications: int
    tensor: Tensor

    @property
    def level(self) -> Level:
        return self.tensor.level


@dataclass
class Trace:
    """What was found in the dump of one rank.

    Attributes:
        events: operators at which inf or NaN appears, in order.
        suspects: the same for the largest number of a type, which saturating hardware writes
            instead of inf, and masks have on purpose.
        left_out: operators with inf or NaN that is normal, with the reason.
        passed: how many operators only pass it on.
        sent: communication operators with inf or NaN in an input, with the level.
        operators, statistics: how many operators and tensors with statistics were read.
    """

    events: list[Event] = field(default_factory=list)
    suspects: list[Event] = field(default_factory=list)
    left_out: Counter[tuple[str, str, Reason]] = field(default_factory=Counter)
    passed: int = 0
    sent: dict[str, Level] = field(default_factory=dict)
    operators: int = 0
    statistics: int = 0


def trace(operators: Iterable[Operator]) -> Trace:
    """Follow inf and NaN through ``operators``."""
    found = Trace()
    seen = Level.FINITE
    communications = 0
    for operator in operators:
        inputs = _relevant(found, operator, operator.inputs)
        outputs = _relevant(found, operator, operator.outputs)
        before, after = highest(inputs), highest(outputs)
        kind = _kind(operator, before, after, seen)
        if kind:
            tensors = inputs if kind is Kind.ARRIVED else outputs
            event = Event(
                kind=kind,
                operator=operator,
                number=found.operators,
                communications=communications,
                tensor=max(tensors, key=lambda tensor: tensor.level),
            )
            _keep(found, event)
        elif max(before, after) >= Level.INF:
            found.passed += 1
        if operator.is_communication:
            communications += 1
            if before >= Level.INF:
                found.sent[operator.name] = before
        seen = max(seen, before, highest(operator.outputs))
        found.operators += 1
        found.statistics += sum(
            not tensor.scalar for tensor in (*operator.inputs, *operator.outputs)
        )
    return found


def _relevant(found: Trace, operator: Operator, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The ``tensors`` that count, without numbers; notes those that do not."""
    kept = []
    for tensor in tensors:
        reason = harmless(operator, tensor) if tensor.level is not Level.FINITE else None
        if reason:
            if tensor.level >= Level.INF:
                found.left_out[operator.api, tensor.place, reason] += 1
        elif not tensor.scalar:
            kept.append(tensor)
    return tuple(kept)


def _kind(operator: Operator, before: Level, after: Level, seen: Level) -> Kind | None:
    if not operator.has_inputs:
        return Kind.UNKNOWN if after > seen else None
    if after > before:
        return Kind.RECEIVED if operator.is_communication else Kind.BORN
    # No operator writes the weights that a module reads.
    weights = [tensor for tensor in operator.inputs if tensor.place.startswith("parameters.")]
    if before >= Level.INF and (before > seen or highest(weights) >= Level.INF):
        return Kind.ARRIVED
    return None


def _keep(found: Trace, event: Event) -> None:
    events = found.events if event.level >= Level.INF else found.suspects
    if len(events) < _MOST:
        events.append(event)
