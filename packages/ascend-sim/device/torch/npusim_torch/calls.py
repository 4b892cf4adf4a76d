# SPDX-License-Identifier: Apache-2.0
"""What the device calls: `prepare` once, `run` for an operator."""

from __future__ import annotations

import atexit
import ctypes
import sys
from typing import Any

import torch

from . import expressions, waiting

_operators = expressions.load()
_CLOSE: int = getattr(sys.modules[__package__ or ""], "CLOSE", 0)


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
    except BaseException as error:  # noqa: BLE001 - an exception must not leave through C++
        # Some of torch's kernels raise a RuntimeError for a wrong index.
        kind = IndexError if "out of bounds" in str(error) else type(error)
        return f"{kind.__name__}: {error}"


def _close() -> None:
    """Let what is planned finish, then refuse operators, before the interpreter ends.

    The device has left the address of its function for that in the package.
    """
    ctypes.CFUNCTYPE(None)(_CLOSE)()


if _CLOSE:
    atexit.register(_close)


def prepare() -> None:
    """The device calls this once, after `run` can be called."""
    waiting.prepare()
