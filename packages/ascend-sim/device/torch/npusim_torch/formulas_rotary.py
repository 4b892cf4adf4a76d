# SPDX-License-Identifier: Apache-2.0
"""Rotary position embedding (Su et al. 2021, arXiv 2104.09864) and softmax with masks."""

from __future__ import annotations

from typing import Any

import torch

MODES = {"half": 0, "interleave": 1, "quarter": 2}


def turned(x: Any, mode: int) -> Any:
    """Each pair (a, b) as (-b, a); the modes differ in where a pair's two parts lie."""
    if mode == 1:
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    if mode == 2:
        a, b, c, d = x.chunk(4, -1)
        return torch.cat((-b, a, -d, c), -1)
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def rotary(x: Any, cos: Any, sin: Any, mode: int) -> Any:
    """x cos + turned(x) sin; a part of the features may stay as it is."""
    wide = x.float()
    if mode == 3:  # pairs lie side by side, and come out half by half
        wide = torch.cat((wide[..., ::2], wide[..., 1::2]), -1)
        mode = 0
    size = cos.shape[-1]
    head = wide[..., :size]
    result = head * cos.float() + turned(head, mode) * sin.float()
    return torch.cat((result, wide[..., size:]), -1) if size < wide.shape[-1] else result


def rotary_both(query: Any, key: Any, cos: Any, sin: Any, mode: str) -> Any:
    return rotary(query, cos, sin, MODES[mode]), rotary(key, cos, sin, MODES[mode])


def rotary_backward(grad: Any, cos: Any, sin: Any, x: Any, mode: int) -> Any:
    """Gradients of x, and of cos and sin where x is given."""
    base = torch.zeros_like(grad) if x is None else x
    inputs = [item.detach().float().requires_grad_() for item in (base, cos, sin)]
    with torch.enable_grad():
        out = rotary(inputs[0], inputs[1], inputs[2], mode)
    dx, dcos, dsin = torch.autograd.grad(out, inputs, grad.float())
    return (dx, None, None) if x is None else (dx, dcos, dsin)


def scaled_masked_softmax(x: Any, mask: Any, scale: float, triangle: bool) -> Any:
    """Softmax of scale x, with -10000 where the mask is set, as Megatron has it."""
    covered = mask.bool()
    if triangle:
        covered = torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax((x.float() * scale).masked_fill(covered, -10000.0), -1)


def window_softmax(x: Any, mask: Any, bias: Any, scale: float) -> Any:
    scores = x.float() * scale + bias.float()
    return torch.softmax(scores if mask is None else scores + mask.float(), -1)


__all__ = ["rotary", "rotary_backward", "rotary_both", "scaled_masked_softmax", "window_softmax"]
