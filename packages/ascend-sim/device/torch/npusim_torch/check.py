# SPDX-License-Identifier: Apache-2.0
"""Compares the table with the torch in use: lines that it cannot carry out, and why.

cd device/torch && python -m npusim_torch.check
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator

import torch

from .expressions import NAMES
from .table import Operator, read


def problems(operator: Operator) -> Iterator[str]:
    """What is wrong with one line, with its place."""
    where = f"{operator.place}: {operator.name}"
    try:
        tree = ast.parse(operator.expression, operator.place, "eval")
    except SyntaxError as error:
        yield f"{where}: {error.msg}"
        return
    known = {parameter.name for parameter in operator.parameters} | set(NAMES) | {"attrs"}
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and _is_target(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in known | own and not _builtin(node.id):
            yield f"{where}: unknown name {node.id}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from _missing(where, node.value.id, node.attr)


def _is_target(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _builtin(name: str) -> bool:
    return hasattr(builtins, name)


def _missing(where: str, owner: str, name: str) -> Iterator[str]:
    module = {"aten": torch.ops.aten, "torch": torch, "F": torch.nn.functional}.get(owner)
    if module is not None and not hasattr(module, name):
        yield f"{where}: torch {torch.__version__} has no {owner}.{name}"


def main() -> None:
    """Run as a program; exits with 1 where a line cannot be carried out."""
    found = [text for operator in read().values() for text in problems(operator)]
    print("\n".join(found) or f"all {len(read())} operators fit torch {torch.__version__}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
