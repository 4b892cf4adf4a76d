# SPDX-License-Identifier: Apache-2.0
"""The table of operators that torch carries out: one line an operator, in the files *.ops.

    Renorm(self, scalar p, int dim, scalar maxnorm) -> out = aten.renorm(self, p, dim, maxnorm)

Left of ``->`` are the parameters of the C function, in its order. One without a type is a tensor;
a ``?`` after the name allows null; a ``&`` before it says that the operator writes it. Right of it
are the outputs, which come last in C too; a ``*`` before one says that its shape is known only
afterwards. The expression gives the new values of all that is written, in order, as a tuple where
there are several of them; None leaves one as it is. Several names may share a line; ``$`` in the
expression is then each in small letters, without 'Inplace' before it. The C function is the name
after 'aclnn', or the name itself where that begins with 'acl'. A name with ``@`` is an
operator of the older interface (aclop), whose parameters are its inputs; its attributes are in
``attrs``.

Needs Python 3.8 and nothing else: the compiler of the device reads the table too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

# The C type of a parameter of each kind; all that is a handle travels as void*. "numbers" is a
# scalar, a list of them or a tensor: which one op-plugin passes depends on its version.
KINDS = {
    "tensor": "t",
    "scalar": "s",
    "tensors": "T",
    "scalars": "S",
    "ints": "I",
    "floats": "F",
    "bools": "B",
    "int": "i",
    "int32": "w",
    "int8": "c",
    "bool": "b",
    "double": "d",
    "float": "f",
    "str": "z",
    "numbers": "n",
}
HANDLES = "tsTSIFBn"
LINE = re.compile(
    r"(?P<names>@?\w+(?: @?\w+)*)\((?P<inputs>[^)]*)\)(?: -> (?P<outputs>[^=]*?))? = (?P<expr>.+)"
)
PARAMETER = re.compile(r"(?:(?P<type>\w+) )?(?P<mark>[&*]?)(?P<name>\w+)(?P<null>\??)")
FOLDER = os.path.dirname(os.path.abspath(__file__))


class TableError(Exception):
    """A line of the table that does not say what an operator is."""


class Parameter(NamedTuple):
    """One argument of an operator's C function."""

    name: str
    kind: str
    """A letter of KINDS."""
    optional: bool
    written: bool
    resized: bool


class Operator(NamedTuple):
    """One line of the table."""

    name: str
    parameters: tuple[Parameter, ...]
    expression: str
    place: str
    inputs: int
    """How many of the parameters are left of ``->``; the others are outputs."""

    @property
    def function(self) -> str:
        """The C function that carries it out."""
        return self.name if self.name.startswith("acl") else f"aclnn{self.name}"

    @property
    def signature(self) -> str:
        """A letter a parameter; '?' after it allows null, '*' says that the shape may change."""
        return "".join(
            p.kind + ("?" if p.optional else "") + ("*" if p.resized else "")
            for p in self.parameters
        )


def parse(line: str, place: str) -> Iterator[Operator]:
    """The operators of one line; TableError names `place`."""
    match = LINE.fullmatch(line)
    if match is None:
        raise TableError(f"{place}: write NAME(PARAMETER, ...) -> OUTPUT, ... = EXPRESSION")
    inputs = [_parameter(text, False, place) for text in _items(match["inputs"])]
    outputs = [_parameter(text, True, place) for text in _items(match["outputs"] or "")]
    names = [parameter.name for parameter in inputs + outputs]
    if len(set(names)) < len(names):
        raise TableError(f"{place}: two parameters of {match['names']} have the same name")
    for name in match["names"].split():
        small = name.replace("Inplace", "").replace("@", "").lower()
        expression = match["expr"].replace("$", small)
        yield Operator(name, tuple(inputs + outputs), expression, place, len(inputs))


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _parameter(text: str, is_output: bool, place: str) -> Parameter:
    match = PARAMETER.fullmatch(text)
    kind = KINDS.get(match["type"] or "tensor") if match else None
    if match is None or kind is None:
        raise TableError(f"{place}: invalid parameter '{text}': types are {', '.join(KINDS)}")
    written = is_output or match["mark"] == "&"
    return Parameter(match["name"], kind, bool(match["null"]), written, match["mark"] == "*")


def lines_of(folder: str = FOLDER) -> Iterator[tuple[str, str]]:
    """The lines of all files, with their places; one that ends in a backslash goes on."""
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".ops"):
            continue
        with open(os.path.join(folder, file), encoding="utf-8") as stream:
            rest = ""
            for number, text in enumerate(stream, 1):
                line = rest + (text.strip() if rest else text.rstrip())
                rest = line[:-1].rstrip() + " " if line.endswith("\\") else ""
                if line and not rest and not line.startswith("#"):
                    yield line, f"{file}:{number}"


def read(folder: str = FOLDER) -> dict[str, Operator]:
    """All operators by the names that the files give them."""
    operators: dict[str, Operator] = {}
    for line, place in lines_of(folder):
        for operator in parse(line, place):
            if operator.name in operators:
                earlier = operators[operator.name].place
                raise TableError(f"{place}: {operator.name} is also at {earlier}")
            operators[operator.name] = operator
    return operators
