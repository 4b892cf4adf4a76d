# SPDX-License-Identifier: Apache-2.0
"""What the device calls: `run` for an operator."""

from __future__ import annotations

from typing import Any

import torch

from . import expressions

_operators = expressions.load()


def run(name: str, arguments: tuple[Any, ...], attributes: tuple[tuple[str, Any], ...]) -> Any:
    """Carry out one operator.

    Returns:
        None, a tuple of (index of an argument, its new shape), or a message when it failed, which
        begins with IndexError where an index in the data is wrong.
    """
    try:
        operator = _operators.get(name)
        if operator is None:
            return f"no line of the table names {name}"
        with torch.no_grad(), torch._C.DisableTorchFunction():
            return operator(arguments, dict(attributes))
    except BaseException as error:  # noqa: BLE001 - the next call is carried out all the same
        # Some of torch's kernels raise a RuntimeError for a wrong index.
        kind = IndexError if "out of bounds" in str(error) else type(error)
        return f"{kind.__name__}: {error}"
