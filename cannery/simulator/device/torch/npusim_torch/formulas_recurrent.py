# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks (Hochreiter and Schmidhuber 1997; Cho et al. 2014), as torch.nn has them."""

from __future__ import annotations

from typing import Any

import torch


def lstm(
    x: Any, params: Any, hx: Any, sizes: Any, bias: bool, layers: int, drop: float, train: bool, both: bool, first: bool
) -> Any:
    if sizes is not None and sizes.numel():
        return torch.lstm(x, sizes.long(), hx, params, bias, layers, drop, train, both)
    return torch.lstm(x, hx, params, bias, layers, drop, train, both, first)


def gru(
    x: Any, params: Any, hx: Any, sizes: Any, bias: bool, layers: int, drop: float, train: bool, both: bool, first: bool
) -> Any:
    if sizes is not None and sizes.numel():
        return torch.gru(x, sizes.long(), hx, params, bias, layers, drop, train, both)
    return torch.gru(x, hx, params, bias, layers, drop, train, both, first)


def lstm_backward(
    x: Any, hx: Any, params: Any, grads: Any, sizes: Any, bias: bool, layers: int, both: bool, first: bool
) -> Any:
    """Gradients of the input, of both states and of the parameters."""
    inputs = [item.detach().clone().requires_grad_() for item in (x, *hx, *params)]
    with torch.enable_grad():
        outs = lstm(
            inputs[0], inputs[3:], inputs[1:3], sizes, bias, layers, 0.0, False, both, first
        )
    used = [(out, grad) for out, grad in zip(outs, grads) if grad is not None]  # noqa: B905
    found = torch.autograd.grad([out for out, _ in used], inputs, [grad for _, grad in used])
    return found[0], found[1], found[2], list(found[3:])


def lstm_cell(input_gates: Any, hidden_gates: Any, cx: Any, input_bias: Any, hidden_bias: Any) -> Any:
    """One step: the new states, and the gates after their activations."""
    gates = input_gates.float() + hidden_gates.float()
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else gates + bias.float()
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    cy = f * cx.float() + i * g
    return o * torch.tanh(cy), cy, torch.cat((i, f, g, o), 1)


def lstm_cell_backward(dh: Any, dc: Any, cx: Any, cy: Any, storage: Any) -> Any:
    """Gradients of the gates before their activations, of the old state and of the bias."""
    i, f, g, o = storage.float().chunk(4, 1)
    top = torch.tanh(cy.float())
    total = torch.zeros_like(cy, dtype=torch.float32) if dc is None else dc.float()
    dh = torch.zeros_like(total) if dh is None else dh.float()
    total = total + dh * o * (1 - top * top)
    parts = (
        total * g * i * (1 - i),
        total * cx.float() * f * (1 - f),
        total * i * (1 - g * g),
        dh * top * o * (1 - o),
    )
    gates = torch.cat(parts, 1)
    return gates, total * f, gates.sum(0)


__all__ = ["gru", "lstm", "lstm_backward", "lstm_cell", "lstm_cell_backward"]
