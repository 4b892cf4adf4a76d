# SPDX-License-Identifier: Apache-2.0
"""Gated linear units (Shazeer 2020, arXiv 2002.05202)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name


def swiglu(x: Any, dim: int = -1) -> Any:
    """silu of the first half, times the second."""
    a, b = x.float().chunk(2, dim)
    return F.silu(a) * b


def swiglu_backward(grad: Any, x: Any, dim: int) -> Any:
    wide = x.detach().float().requires_grad_()
    with torch.enable_grad():
        out = swiglu(wide, dim)
    return torch.autograd.grad(out, wide, grad.float())[0]


def geglu(x: Any, dim: int, approximate: int, left: bool) -> Any:
    """gelu of one half, times the other; and that gelu."""
    a, b = x.float().chunk(2, dim)
    gate, value = (a, b) if left else (b, a)
    activated = F.gelu(gate, approximate="tanh" if approximate else "none")
    return activated * value, activated


def geglu_backward(grad: Any, x: Any, dim: int, approximate: int, left: bool) -> Any:
    wide = x.detach().float().requires_grad_()
    with torch.enable_grad():
        out = geglu(wide, dim, approximate, left)[0]
    return torch.autograd.grad(out, wide, grad.float())[0]


__all__ = ["geglu", "geglu_backward", "swiglu", "swiglu_backward"]
