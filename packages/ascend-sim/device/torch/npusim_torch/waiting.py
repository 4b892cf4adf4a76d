# SPDX-License-Identifier: Apache-2.0
"""Keeps torch_npu from holding Python's lock while it waits for its own queue.

The queue's thread needs the lock here. Newer releases of torch_npu give the lock up while they wait
only if an operator of the older interface (aclop) has run in the process, as it may call Python on
hardware too. So one is run as soon as possible: npu_mish has no newer form in any release.
"""

from __future__ import annotations

import ctypes
import threading

import torch


def _run_older_operator() -> None:
    operator = getattr(torch.ops.npu, "npu_mish", None)
    if operator is not None and torch.npu.is_initialized():
        operator(torch.zeros(16, device="npu"))


def _pending(_: int | None) -> int:
    _run_older_operator()
    return 0


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_pending)


def prepare() -> None:
    """Run the operator on the main thread: at once, or as soon as it gets there."""
    if not hasattr(torch, "npu"):
        return
    if threading.current_thread() is threading.main_thread():
        _run_older_operator()
    else:
        ctypes.pythonapi.Py_AddPendingCall(_CALLBACK, None)
