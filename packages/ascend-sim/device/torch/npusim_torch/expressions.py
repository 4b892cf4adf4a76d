# SPDX-License-Identifier: Apache-2.0
"""Makes the lines of the table callable."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from . import formulas
from .table import Operator, Parameter, read
from .views import opened, put, put_resized, widened

NAMES = {
    "torch": torch,
    "aten": torch.ops.aten,
    "F": torch.nn.functional,
    "math": math,
    "widened": widened,
    **formulas.NAMES,
}
"""What an expression can use besides its own parameters."""


class Expression:
    """One operator, compiled when it is first called."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.written = [i for i, p in enumerate(operator.parameters) if p.written]
        self._function: Callable[..., Any] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """The expression as a function of its parameters and `attrs`."""
        if self._function is None:
            names = ", ".join([*(p.name for p in self.operator.parameters), "attrs"])
            source = f"lambda {names}: {self.operator.expression}"
            code = compile(source, self.operator.place, "eval")
            self._function = eval(code, dict(NAMES))  # noqa: S307 - the table is this package's
        assert self._function is not None
        return self._function

    def __call__(self, items: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Compute and write the results; returns the shapes that were unknown, or None."""
        if "" in attributes:
            items = self.arranged(items, attributes.pop(""))
        values = [
            opened(parameter, item) for parameter, item in zip(self.operator.parameters, items)
        ]
        results = self._computed(values, attributes)
        if len(self.written) == 1:
            results = (results,)
        if len(results) != len(self.written):
            raise ValueError(f"{len(results)} results for {len(self.written)} outputs")
        found = []
        for index, result in zip(self.written, results):
            parameter = self.operator.parameters[index]
            if result is None or values[index] is None or _unwanted(parameter, values[index]):
                continue
            if parameter.resized:
                found.append((index, put_resized(items[index], result)))
            elif parameter.kind == "T":
                for target, part in zip(values[index], result):
                    put(target, part)
            else:
                put(values[index], result)
        return tuple(found) or None

    def arranged(self, items: tuple[Any, ...], inputs: int) -> tuple[Any, ...]:
        """The arguments of the older interface, whose last inputs and outputs may be left out.

        One parameter that is a list takes all inputs that the others leave. An input that is
        written is an output too, and comes again after the inputs.
        """
        declared = self.operator.parameters[: self.operator.inputs]
        given, outputs = list(items[:inputs]), items[inputs:]
        lists = [number for number, p in enumerate(declared) if p.kind == "T"]
        if lists:
            first = lists[0]
            last = inputs - (len(declared) - first - 1)
            given[first:last] = [tuple(given[first:last])]
        missing = [None] * (len(declared) - len(given))
        count = len(self.operator.parameters)
        return (*given, *missing, *outputs, *[None] * count)[:count]

    def _computed(self, values: list[Any], attributes: dict[str, Any]) -> Any:
        try:
            return self.function(*values, attributes)
        except (RuntimeError, NotImplementedError) as error:
            if "not implemented for" not in str(error):
                raise
        return self.function(*(widened(value) for value in values), attributes)


def _unwanted(parameter: Parameter, target: Any) -> bool:
    """Whether an output that may be left out has no room."""
    return parameter.optional and parameter.kind == "t" and target.numel() == 0


def load() -> dict[str, Expression]:
    """All operators of the table by name."""
    return {name: Expression(operator) for name, operator in read().items()}
