# SPDX-License-Identifier: Apache-2.0
"""Where the first inf or NaN of a training run came from, as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Iterator

from ascend_doctor.plain_text import columns, printable
from ascend_doctor.problems import counted, some_of

from .harmless import TEAM, Reason
from .nan_hunt import First, Hunt
from .operators import Level, Tensor, highest
from .trace import Event, Kind

_SHOWN = 12
_STACK = 6
"""Lines of the program that are shown."""
_SAYS = {
    Kind.BORN: "makes {level} of {inputs} inputs",
    Kind.ARRIVED: "gets {level}, which no operator of the dump has written",
    Kind.RECEIVED: "receives {level}",
    Kind.UNKNOWN: "has {level} in its output; the dump has no inputs, so it may come from before",
}
_COMPARE = "mindstudio-probe 8.3.0, docs/12.overflow_check_PyTorch.md"
_DO = {
    Kind.BORN: "Run this operator with the same inputs on the CPU (dump with task 'tensor'). If it "
    "overflows there as well, look at the values that it gets; if not, it is the operator on the "
    "NPU.",
    Kind.ARRIVED: "Look at the weights, the data and the operators before the dump began; dump an "
    "earlier step.",
    Kind.RECEIVED: "Search the dumps of all ranks together.",
    Kind.UNKNOWN: "Dump inputs as well: data_mode 'all' in the config of msprobe.",
}
_WITHIN = "Dump with level 'mix' as well: it has the operators that this module calls."
_LIBRARIES = ("/site-packages/", "/msprobe/")
_SATURATED = (
    "Some operators write the largest number of a type, which can stand for inf where overflow "
    "saturates, and is normal in masks:"
)


def hunt_text(found: Hunt) -> str:
    """The first operator, what each rank has, and what was left out."""
    operators = sum(each.trace.operators for each in found.dumps)
    read = f"{counted(len(found.dumps), 'dump')} with {counted(operators, 'operator')}"
    lines = [_head(found), f"  searched: {read}"]
    if found.first:
        lines += _details(found, found.first)
    if len(found.ranks) > 1:
        rows = [("step", "rank", "first operator", "")]
        rows += [_row(first) for first in found.ranks]
        lines += ["", *(f"  {line}" for line in columns(rows, right=range(2)))]
    lines += _suspects(found)
    left_out = _left_out(found)
    if left_out:
        lines += ["", "  Left out, because inf and NaN are normal there:"]
        lines += [f"    {line}" for line in _limited([*map(_reason, left_out)])]
    lines += [line for problem in found.problems for line in ("", f"  incomplete: {problem}")]
    return printable("\n".join(lines)) + "\n"


def hunt_json(found: Hunt) -> str:
    """All of it for programs; docs/training-checks.md has the fields."""
    document = {
        "schema": 1,
        "found": found.first is not None,
        "first": _first(found.first) if found.first else None,
        "modules": [*found.modules],
        "called_by": [*found.called_by],
        "ranks": [_first(first) for first in found.ranks],
        "saturated": [_event(event) for event in found.saturated],
        "left_out": [
            {"api": api, "place": place, "count": count, "reason": why.text, "source": why.source}
            for (api, place, why), count in _left_out(found)
        ],
        "dumps": [
            {
                "path": str(each.dump.path),
                "step": each.dump.step,
                "rank": each.dump.rank,
                "operators": each.trace.operators,
                "passed_on": each.trace.passed,
            }
            for each in found.dumps
        ],
        "problems": [*found.problems],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _head(found: Hunt) -> str:
    if not found.first:
        part = " in the part that was read" if found.problems else ""
        if found.saturated:
            return f"no inf or NaN{part}, but values that may stand for inf"
        return f"no inf or NaN{part} except where it is normal"
    step, rank, operator, says = _row(found.first)
    return f"step {step}, rank {rank}: {operator} {says}"


def _says(first: First) -> str:
    event = first.event
    before = highest(event.operator.inputs)
    inputs = "finite" if before < Level.INF else f"{before}"
    text = _SAYS[event.kind].format(level=event.level, inputs=inputs)
    if first.senders:
        text += f" from {_ranks(first.senders)}"
    elif first.missing:
        text += f", perhaps from {_ranks(first.missing)}, of which there is no dump"
    return text


def _ranks(ranks: tuple[int, ...]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + some_of([*map(str, ranks)], 8)


def _details(found: Hunt, first: First) -> Iterator[str]:
    operator = first.event.operator
    rows = [
        (f"{tensor.place}:", str(tensor.level), f"max {tensor.largest}, min {tensor.smallest}", of)
        for tensor in (*operator.inputs, *operator.outputs)
        if tensor.largest
        for of in [f"{tensor.dtype} {list(tensor.shape)}" if tensor.dtype else ""]
    ]
    yield from (f"    {line}" for line in _limited(columns(rows)))
    if found.modules:
        yield f"  in module:  {found.modules[0]}"
    own = [line for line in found.called_by if not any(each in line for each in _LIBRARIES)]
    for number, line in enumerate((own or found.called_by)[:_STACK]):
        yield ("  called by:  " if not number else " " * 14) + line
    passed = first.traced.trace.passed
    yield f"  after it:   {counted(passed, 'operator')} of this rank only pass inf or NaN on"
    yield f"  {_WITHIN if operator.is_module else _DO[first.event.kind]}"
    yield f"    source: {TEAM}; {_COMPARE}"


def _row(first: First) -> tuple[str, str, str, str]:
    dump = first.traced.dump
    return str(dump.step), str(dump.rank), first.event.operator.name, _says(first)


def _limited(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return lines if more <= 0 else [*lines[:_SHOWN], f"and {more:,} more"]


def _suspects(found: Hunt) -> list[str]:
    names = [f"{event.operator.name}, {event.tensor.place}" for event in found.saturated]
    if not names:
        return []
    source = f"    source: {TEAM}"
    return ["", f"  {_SATURATED}", *(f"    {line}" for line in _limited(names)), source]


def _left_out(found: Hunt) -> list[tuple[tuple[str, str, Reason], int]]:
    total: Counter[tuple[str, str, Reason]] = Counter()
    for each in found.dumps:
        total += each.trace.left_out
    return total.most_common()


def _reason(left: tuple[tuple[str, str, Reason], int]) -> str:
    (api, place, why), count = left
    return f"{api}, {place}, {counted(count, 'time')}: {why.text} (source: {why.source})"


def _first(first: First) -> dict[str, Any]:
    dump = first.traced.dump
    return {
        "step": dump.step,
        "rank": dump.rank,
        **_event(first.event),
        "received_from": [*first.senders],
        "missing_ranks": [*first.missing],
    }


def _event(event: Event) -> dict[str, Any]:
    operator = event.operator
    words = operator.name.split(".")
    return {
        "operator": operator.name,
        "direction": next((word for word in ("forward", "backward") if word in words), ""),
        "kind": str(event.kind),
        "value": _VALUE[event.level],
        "side": "output" if event.tensor.place.startswith("output") else "input",
        "place": event.tensor.place,
        "number": event.number,
        "inputs": [_tensor(tensor) for tensor in operator.inputs],
        "outputs": [_tensor(tensor) for tensor in operator.outputs],
    }


_VALUE = {Level.FINITE: "finite", Level.LARGEST: "largest", Level.INF: "inf", Level.NAN: "nan"}


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {
        "place": tensor.place,
        "value": _VALUE[tensor.level],
        "dtype": tensor.dtype,
        "shape": [*tensor.shape],
        "max": tensor.largest,
        "min": tensor.smallest,
    }
