# SPDX-License-Identifier: Apache-2.0
"""Results of cases by kind, and the figures of one direction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from conformance.operators.explained import explanation
from conformance.operators.run import Cases, Results


class Outcome(StrEnum):
    """The kinds of results."""

    PASS = "pass"  # noqa: S105 - no password
    OTHER_TYPE = "pass, other type"
    REFUSED = "refused by torch_npu"
    REFUSED_BY_CARD = "refused as on the card"
    ERROR = "error"
    WRONG = "wrong"
    EXPLAINED = "wrong, explained"
    CRASH = "crash"
    HANG = "hang"


BEGINNINGS = {
    "wrong": Outcome.WRONG,
    "crash": Outcome.CRASH,
    "other type": Outcome.OTHER_TYPE,
}
DEVICES = {Outcome.ERROR, Outcome.WRONG, Outcome.CRASH, Outcome.HANG}
"""Those that are the device's fault."""
RIGHT = {Outcome.PASS, Outcome.OTHER_TYPE}
NOT_TAKEN = {Outcome.REFUSED, Outcome.REFUSED_BY_CARD}
# Checks of torch_npu itself, before it calls CANN: parameter, type or value are invalid, or a
# feature is not supported; and operators that it does not have.
REFUSAL = re.compile(
    r"ERR010(?:01|02|03|07)\b|Could not run 'aten::[\w.]+' with arguments from the '\w*npu' backend"
)

# What the device says of a type that an operator's document and source deny (accepted_types.cpp).
DENIED = re.compile(
    r"npusim: (aclnn\w+): \w+ is \w+, and \w+ takes ([^(]+) \(([\w/&.,-]+\.(?:md|cpp|h))\)"
)


@dataclass(frozen=True)
class Failure:
    """A case that did not pass."""

    operator: str
    case: str
    outcome: Outcome
    reason: str


def outcome(operator: str, case: str, found: str) -> Outcome:
    """The kind of a case's result."""
    kind = _kind(found)
    if kind in {Outcome.WRONG, Outcome.ERROR} and explanation(operator, case, found):
        return Outcome.EXPLAINED
    return kind


def _kind(found: str) -> Outcome:
    for beginning, kind in BEGINNINGS.items():
        if found.startswith(beginning):
            return kind
    if found in {Outcome.PASS, Outcome.HANG}:
        return Outcome(found)
    if DENIED.search(found):
        return Outcome.REFUSED_BY_CARD
    return Outcome.REFUSED if REFUSAL.search(found) else Outcome.ERROR


def reason(operator: str, case: str, found: str) -> str:
    """Why a case did not pass, without what differs from case to case."""
    known = explanation(operator, case, found)
    if known is not None:
        return f"{known.reason} ({known.source})"
    if found.startswith("other type"):
        return f"torch_npu returns {_types(found, 0)}, the CPU {_types(found, 1)}"
    if denied := DENIED.search(found):
        return f"{denied[1]} takes {denied[2]} ({denied[3]})"
    if found.startswith("wrong"):
        return found.partition(":")[0]
    text = found.removeprefix("Inner error: ").partition("\n")[0].partition("This could be")[0]
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+", "", text)).strip()[:160]


def _types(found: str, side: int) -> str:
    names: list[str] = re.findall(r"torch\.(\w+)", found.split(" not ")[side])
    return ", ".join(names)


def failures(results: Results) -> Iterator[Failure]:
    """The cases that did not pass, or only with another type."""
    for operator, cases in sorted(results.items()):
        for case, found in cases.items():
            kind = outcome(operator, case, found)
            if kind is not Outcome.PASS:
                yield Failure(operator, case, kind, reason(operator, case, found))


@dataclass(frozen=True)
class Count:
    """Operators with samples, those of which all cases pass, and cases by their outcome."""

    operators: int
    every: int
    none: int
    accepted: int
    """Operators of which a case is not refused."""
    every_accepted: int
    """Those of which all cases pass that are not refused."""
    cases: int
    outcomes: Counter[Outcome]


def count(results: Results) -> Count:
    """The figures of one direction; an operator without samples does not count."""
    kinds = {name: _outcomes(name, cases) for name, cases in results.items() if cases}
    accepted = [found - NOT_TAKEN for found in map(set, kinds.values())]
    return Count(
        operators=len(kinds),
        every=sum(RIGHT.issuperset(found) for found in kinds.values()),
        none=sum(RIGHT.isdisjoint(found) for found in kinds.values()),
        accepted=sum(bool(found) for found in accepted),
        every_accepted=sum(bool(found) and found <= RIGHT for found in accepted),
        cases=sum(map(len, kinds.values())),
        outcomes=Counter(kind for found in kinds.values() for kind in found),
    )


def _outcomes(operator: str, cases: Cases) -> list[Outcome]:
    return [outcome(operator, case, found) for case, found in cases.items()]
