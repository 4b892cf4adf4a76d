# SPDX-License-Identifier: Apache-2.0
"""Carries out operators of the software Ascend device with the PyTorch of this process.

The device (libascendcl.so) loads this module and calls `run`, mostly on torch_npu's own thread.
Device memory is memory of this process, so tensors are views of it and nothing is copied.
Works with Python 3.8 and torch 2.1, and later ones.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
from typing import Any

import torch

from . import expressions, views

CLOSE: int
"""The address of the device's function that ends all calls; the device sets it."""

_operators = expressions.load()


def run(name: str, arguments: tuple[Any, ...], attributes: tuple[tuple[str, Any], ...]) -> Any:
    """Carry out one operator.

    Returns:
        None, a tuple of (index of an argument, its new shape), or a message when it failed.
    """
    try:
        operator = _operators.get(name)
        if operator is None:
            return f"no line of the table names {name}"
        with torch.no_grad(), torch._C.DisableTorchFunction():
            return operator(arguments, dict(attributes))
    except BaseException as error:  # noqa: BLE001 - an exception must not leave through C++
        return f"{type(error).__name__}: {error}"


def _close() -> None:
    """Finish what torch_npu has queued, then refuse operators, before the interpreter ends."""
    npu = getattr(torch, "npu", None)
    if "torch_npu" in sys.modules and npu is not None:
        try:
            npu.synchronize()
        except Exception as error:  # noqa: BLE001 - the process ends all the same
            print(f"npusim: while Python ends: {error}", file=sys.stderr)
    ctypes.CFUNCTYPE(None)(CLOSE)()


if "CLOSE" in globals():
    atexit.register(_close)

__all__ = ["run", "views"]
