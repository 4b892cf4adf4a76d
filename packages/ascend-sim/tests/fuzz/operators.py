# SPDX-License-Identifier: Apache-2.0
"""The parameters of the device's aclnn operators, read from their C++ source and the table."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

DEVICE = Path(__file__).parents[2] / "device"
TYPES = {
    "Tensor&": "tensor",
    "Tensor*": "tensor",
    "Scalar&": "scalar",
    "Scalar*": "scalar",
    "IntArray&": "ints",
    "IntArray*": "ints",
    "BoolArray&": "bools",
    "TensorList&": "tensors",
    "Factors": "factors",
    "char*": "layout",
    "int64_t": "int64",
    "int": "int32",
    "int8_t": "int8",
    "bool": "bool",
    "double": "double",
    "float": "float",
}
LETTERS = {
    "t": "tensor",
    "s": "scalar",
    "T": "tensors",
    "S": "scalars",
    "I": "ints",
    "F": "floats",
    "n": "factors",
    "B": "bools",
    "i": "int64",
    "w": "int32",
    "c": "int8",
    "b": "bool",
    "d": "double",
    "f": "float",
    "z": "layout",
}
MACRO = re.compile(r"#define (\w+)\(([\w, ]+)\)((?:[^\n]*\\\n)*[^\n]*)\n")
ENTRY = re.compile(r"^ACLNN\((\w+), (\w+)(?:<.*>)?\)", re.MULTILINE)

Signatures = dict[str, tuple[str, ...]]


def c_function(name: str) -> str:
    """The C function of the operator ``name``: a line of the table may name the whole function."""
    return name if name.startswith("acl") else f"aclnn{name}"


def own_operators() -> Signatures:
    """Those that the device carries out itself: names without 'aclnn', kinds of parameters."""
    found: Signatures = {}
    for source in sorted((DEVICE / "aclnn").glob("*.cpp")):
        text = _expanded(source.read_text())
        for name, function in ENTRY.findall(text):
            definition = re.search(rf"\bvoid {function}\(([^)]*)\)", text)
            assert definition, f"{source.name}: {function} is not defined there"
            types = [parameter.split() for parameter in definition[1].split(",")]
            found[name] = tuple(TYPES[_type_of(words)] for words in types)
    return found


@cache
def torch_operators() -> Signatures:
    """Those of the table, which a process without PyTorch refuses."""
    path = DEVICE / "torch" / "npusim_torch" / "table.py"
    spec = importlib.util.spec_from_file_location("npusim_torch_table", path)
    assert spec
    assert spec.loader
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    return {
        name: tuple(LETTERS[parameter.kind] for parameter in operator.parameters)
        for name, operator in table.read().items()
        if not name.startswith("@")
    }


def _type_of(words: list[str]) -> str:
    plain = [word for word in words if word != "const"]
    return plain[0]


def _expanded(text: str) -> str:
    """The text after the macros of its own that define operators."""
    lines = [text]
    for name, parameters, body in MACRO.findall(text):
        if "ACLNN(" in body:
            lines += _uses(text, name, [each.strip() for each in parameters.split(",")], body)
    return "\n".join(lines)


def _uses(text: str, name: str, parameters: list[str], body: str) -> Iterator[str]:
    for use in re.findall(rf"^{name}\((.*)\)$", text, re.MULTILINE):
        expanded = body.replace("\\\n", "\n")
        for parameter, given in zip(parameters, use.split(", "), strict=True):
            expanded = re.sub(rf"\b{parameter}\b", given, expanded)
        yield "\n".join(line.strip() for line in expanded.replace("##", "").splitlines())
