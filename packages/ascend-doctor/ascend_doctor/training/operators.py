# SPDX-License-Identifier: Apache-2.0
"""Reads what msprobe has dumped of an operator, as far as inf and NaN are concerned.

Source: the description of dump.json in mindstudio-probe 8.3.0 (docs/27.dump_json_instruction.md)
and its writers in 8.3.0 and 26.2.0 (core/data_dump, core/dump). An operator is an API, as in
``Functional.relu.0.forward``, or a module, as in ``Module.conv2.Conv2d.forward.0``.
"""

from __future__ import annotations

import enum
import math
import re
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, Mapping

_INPUTS = ("input", "input_args", "input_kwargs", "parameters")
_OUTPUT = "output"
_GRADIENTS = ".parameters_grad"
_VALUES = ("Max", "Min")
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}
"""The largest finite number of each type. Where the hardware saturates, it stands for inf."""
_FROM_SECOND = ("recv", "irecv", "broadcast")
"""Communication operators whose second argument is the rank of the sender."""
_MASK = "float16"
"""Programs fill masks with the smallest number of a type, down to this one."""
_NUMBER = re.compile(r"[-+]?(nan|inf(inity)?)", re.IGNORECASE)


class Level(enum.IntEnum):
    """How far a tensor is from being all right."""

    FINITE = 0
    LARGEST = 1
    INF = 2
    NAN = 3

    def __str__(self) -> str:
        return ("finite", "the largest number of its type", "inf", "NaN")[self]

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


@dataclass(frozen=True)
class Tensor:
    """A tensor, or a number, that an operator has read or written.

    Attributes:
        place: which one, as in ``input_args[0]``, ``input_kwargs.mask`` or ``output[1]``.
        scalar: it is a number that the program has given as an argument.
    """

    place: str
    level: Level
    dtype: str = ""
    shape: tuple[int, ...] = ()
    largest: str = ""
    smallest: str = ""
    scalar: bool = False


@dataclass(frozen=True)
class Operator:
    """One call of an operator, with the tensors that have statistics.

    Attributes:
        has_inputs: the dump has its inputs; a dump of outputs only has not.
        ranks: the ranks that a collective operator connects; empty if it does not say so.
        source: the rank that it receives from, if it says so.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    has_inputs: bool
    ranks: tuple[int, ...] = ()
    source: int | None = None

    @property
    def api(self) -> str:
        """Its name without the number of the call, as in ``functional.relu``."""
        return ".".join(self.name.split(".")[:2]).lower()

    @property
    def is_communication(self) -> bool:
        return self.name.startswith("Distributed.")

    @property
    def is_module(self) -> bool:
        return self.name.startswith(("Module.", "Cell."))


def operator_of(name: str, data: object) -> Operator | None:
    """The operator ``name`` with its ``data`` in dump.json; None if that is no object."""
    if not isinstance(data, dict):
        return None
    if name.endswith(_GRADIENTS):
        data = {_OUTPUT: data}
    groups = [(key, data[key]) for key in _INPUTS if key in data]
    outputs = [*_tensors([(_OUTPUT, data.get(_OUTPUT))])]
    if data.get("is_nan"):
        # The task nan_check says of an operator's output only whether it has overflowed.
        outputs.append(Tensor(place=_OUTPUT, level=Level.NAN))
    ranks, source = _partners(name, groups) if name.startswith("Distributed.") else ((), None)
    return Operator(
        name=name,
        inputs=tuple(_tensors(groups)),
        outputs=tuple(outputs),
        has_inputs=bool(groups),
        ranks=ranks,
        source=source,
    )


def highest(tensors: Iterable[Tensor]) -> Level:
    """The highest level among ``tensors``."""
    return max((tensor.level for tensor in tensors), default=Level.FINITE)


def _leaves(groups: list[tuple[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object with a type below ``groups``, with its place, in their order."""
    waiting = groups[::-1]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, list):
            items = [(f"{place}[{number}]", each) for number, each in enumerate(value)]
            waiting += reversed(items)
        elif isinstance(value, dict):
            if isinstance(value.get("type"), str):
                yield place, value
            else:
                waiting += reversed([(f"{place}.{name}", each) for name, each in value.items()])


def _tensors(groups: list[tuple[str, Any]]) -> Iterator[Tensor]:
    for place, value in _leaves(groups):
        dtype = str(value.get("dtype", ""))
        if any(name in value for name in _VALUES):
            largest, smallest = (value.get(name) for name in _VALUES)
            shape = value.get("shape")
            yield Tensor(
                place=place,
                level=max(_level(largest, dtype), _level(smallest, dtype)),
                dtype=dtype,
                shape=tuple(shape) if isinstance(shape, (list, tuple)) else (),
                largest=str(largest),
                smallest=str(smallest),
            )
            continue
        level = _level(value.get("value"), _MASK)
        if level is not Level.FINITE:
            yield Tensor(place=place, level=level, largest=str(value["value"]), scalar=True)


def _level(value: object, dtype: str) -> Level:
    """The level of a number; older dumps have inf and nan as texts."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if not isinstance(value, float):
        return Level.FINITE
    if math.isnan(value):
        return Level.NAN
    if math.isinf(value):
        return Level.INF
    largest = _LARGEST.get(dtype.rpartition(".")[2].lower(), math.inf)
    return Level.LARGEST if abs(value) >= largest else Level.FINITE


def _partners(name: str, groups: list[tuple[str, Any]]) -> tuple[tuple[int, ...], int | None]:
    """The ranks of the process group among the arguments, and the rank of the sender."""
    places = ["input_kwargs.src", "input_kwargs.group_src"]
    if name.split(".")[1] in _FROM_SECOND:
        places.append("input_args[1]")
    ranks: tuple[int, ...] = ()
    source: int | None = None
    for place, value in _leaves(groups):
        found = value.get("group_ranks")
        if isinstance(found, list):
            ranks = tuple(each for each in found if isinstance(each, int))
        if place in places and value["type"] == "int" and isinstance(value.get("value"), int):
            source = value["value"]
    return ranks, source
