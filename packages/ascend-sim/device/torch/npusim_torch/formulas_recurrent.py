# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks (Hochreiter and Schmidhuber 1997; Cho et al. 2014), as torch.nn has them."""

from __future__ import annotations

from typing import Any

import torch


def packed(padded: Any, sizes: Any) -> Any:
    """The steps of sequences of different lengths one after the other, as PyTorch packs them.

    torch_npu hands them over in rows, with their padding.
    """
    steps = padded.reshape(len(sizes), -1, padded.shape[-1])
    return torch.cat([step[:size] for step, size in zip(steps, sizes.tolist())])


def unpacked(rows: Any, sizes: Any) -> Any:
    """A matrix a step, with zeros where a sequence has ended."""
    steps = rows.split(sizes.tolist())
    return torch.nn.utils.rnn.pad_sequence(steps, batch_first=True)


def lstm(
    x: Any,
    params: Any,
    hx: Any,
    sizes: Any,
    bias: bool,
    layers: int,
    drop: float,
    train: bool,
    both: bool,
    first: bool,
) -> Any:
    if sizes is not None and sizes.numel():
        rows, counts = packed(x, sizes), sizes.long()
        out, hy, cy = torch.lstm(rows, counts, hx, params, bias, layers, drop, train, both)
        return unpacked(out, sizes), hy, cy
    return torch.lstm(x, hx, params, bias, layers, drop, train, both, first)


def gru(
    x: Any,
    params: Any,
    hx: Any,
    sizes: Any,
    bias: bool,
    layers: int,
    drop: float,
    train: bool,
    both: bool,
    first: bool,
) -> Any:
    if sizes is not None and sizes.numel():
        rows, counts = packed(x, sizes), sizes.long()
        out, hy = torch.gru(rows, counts, hx, params, bias, layers, drop, train, both)
        return unpacked(out, sizes), hy
    return torch.gru(x, hx, params, bias, layers, drop, train, both, first)


def lstm_backward(
    x: Any,
    hx: Any,
    params: Any,
    grads: Any,
    sizes: Any,
    bias: bool,
    layers: int,
    both: bool,
    first: bool,
) -> Any:
    """Gradients of the input, of both states and of the parameters."""
    inputs = [item.detach().clone().requires_grad_() for item in (x, *hx, *params)]
    with torch.enable_grad():
        outs = lstm(
            inputs[0], inputs[3:], inputs[1:3], sizes, bias, layers, 0.0, False, both, first
        )
    used = [(out, grad) for out, grad in zip(outs, grads) if grad is not None]
    found = torch.autograd.grad([out for out, _ in used], inputs, [grad for _, grad in used])
    return found[0], found[1], found[2], list(found[3:])


def gru_backward(
    x: Any,
    hx: Any,
    params: Any,
    grads: Any,
    sizes: Any,
    bias: bool,
    layers: int,
    both: bool,
    first: bool,
) -> Any:
    """Gradients of the input, of the state and of the parameters."""
    inputs = [item.detach().clone().requires_grad_() for item in (x, hx, *params)]
    with torch.enable_grad():
        outs = gru(inputs[0], inputs[2:], inputs[1], sizes, bias, layers, 0.0, False, both, first)
    found = torch.autograd.grad(outs, inputs, [g.reshape(o.shape) for g, o in zip(grads, outs)])
    return found[0], found[1], list(found[2:])


def lstm_cell(
    input_gates: Any, hidden_gates: Any, cx: Any, input_bias: Any, hidden_bias: Any
) -> Any:
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


def dynamic_rnn(x: Any, w: Any, b: Any, mask: Any, h0: Any, c0: Any, attrs: Any) -> Any:
    """One layer in one direction: y, h, c, the gates i, g, f, o and tanh(c), each at every step.

    The rows of w are those for x, then those for h; a mask of 0 keeps a sequence's state as it is.
    """
    steps, batch, _ = x.shape
    hidden = w.shape[1] // 4
    state = [
        x.new_zeros(batch, hidden).float() if s is None else s.float().reshape(batch, hidden)
        for s in (h0, c0)
    ]
    h, c = state
    rows: list[Any] = [None] * steps
    reverse = attrs.get("direction") == "REDIRECTIONAL"
    for step in reversed(range(steps)) if reverse else range(steps):
        gates = torch.cat((x[step].float(), h), 1) @ w.float()
        gates = gates if b is None else gates + b.float()
        i, f, g, o = gates.chunk(4, 1)
        i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
        c_new = f * c + i * g
        top = torch.tanh(c_new)
        h_new = o * top
        valid = 1 if mask is None else mask[step].float()
        y, c, h = h_new * valid, c_new * valid + c * (1 - valid), h_new * valid + h * (1 - valid)
        rows[step] = (y, h, c, i, g, f, o, top)
    return tuple(torch.stack(part) for part in zip(*rows))


def dynamic_rnn_backward(
    x: Any, w: Any, b: Any, h0: Any, c0: Any, dy: Any, dh: Any, dc: Any, mask: Any, attrs: Any
) -> Any:
    """Gradients of w, b, x and both first states, from those of y and of both last states."""
    inputs = [item.detach().float().requires_grad_() for item in (w, b, x, h0, c0)]
    mask = mask if mask is not None and mask.dim() == 3 else None
    with torch.enable_grad():
        y, h, c, *_ = dynamic_rnn(
            inputs[2], inputs[0], inputs[1], mask, inputs[3], inputs[4], attrs
        )
        last = 0 if attrs.get("direction") == "REDIRECTIONAL" else -1
        outs = (y, h[last], c[last])
    grads = [g.float().reshape(out.shape) for g, out in zip((dy, dh, dc), outs)]
    return torch.autograd.grad(outs, inputs, grads)


def dynamic_rnn_v2_backward(
    x: Any, w_ih: Any, w_hh: Any, h0: Any, c0: Any, saved: Any, grads: Any, attrs: Any
) -> Any:
    """Gradients of both weights, b, x and both first states, from what the forward pass saved.

    `saved` are h, c and the gates i, g, f and o at every step. x of two dimensions is one step.
    """
    steps = x if x.dim() == 3 else x.unsqueeze(0)
    batch, hidden = steps.shape[1], w_hh.shape[0]
    h, c, i, g, f, o = (part.float().reshape(-1, batch, hidden) for part in saved)
    dy, dh, dc = (part.float().reshape(-1, batch, hidden) for part in grads)
    first_h, first_c = (s.float().reshape(batch, hidden) for s in (h0, c0))
    order = list(range(len(steps)))
    if attrs.get("direction") == "REDIRECTIONAL":
        order.reverse()
    dx = torch.zeros(steps.shape)
    dw_ih, dw_hh = torch.zeros(w_ih.shape), torch.zeros(w_hh.shape)
    db = torch.zeros(w_hh.shape[1])
    total_h, total_c = dh[-1], dc[-1]
    for number in reversed(range(len(order))):
        step = order[number]
        h_old, c_old = (
            (h[order[number - 1]], c[order[number - 1]]) if number else (first_h, first_c)
        )
        gates = torch.cat((i[step], f[step], g[step], o[step]), 1)
        change, total_c, bias = lstm_cell_backward(
            dy[step] + total_h, total_c, c_old, c[step], gates
        )
        dx[step] = change @ w_ih.float().t()
        total_h = change @ w_hh.float().t()
        dw_ih += steps[step].float().t() @ change
        dw_hh += h_old.t() @ change
        db += bias
    return dw_ih, dw_hh, db, dx, total_h, total_c


def dynamic_gru(x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, h0: Any, attrs: Any) -> Any:
    """One layer in one direction: y, h, the gates z, r and n, and what r scales, at every step."""
    hidden = w_hh.shape[0]
    h = x.new_zeros(x.shape[1], hidden).float() if h0 is None else h0.float().reshape(-1, hidden)
    rows = []
    for step in x.float():
        gi, gh = step @ w_ih.float(), h @ w_hh.float()
        gi = gi if b_ih is None else gi + b_ih.float()
        gh = gh if b_hh is None else gh + b_hh.float()
        r, z = (torch.sigmoid(a + b) for a, b in zip(_in_order(gi, attrs), _in_order(gh, attrs)))
        hn = gh[:, 2 * hidden :]
        n = torch.tanh(gi[:, 2 * hidden :] + r * hn)
        h = (1 - z) * n + z * h
        rows.append((h, h, z, r, n, hn))
    return tuple(torch.stack(part) for part in zip(*rows))


def _in_order(gates: Any, attrs: Any) -> Any:
    """The parts of r and z: their order is an attribute, and n is always the last."""
    first, second, _ = gates.chunk(3, 1)
    return (first, second) if attrs.get("gate_order", "zrh") == "rzh" else (second, first)


def dynamic_gru_backward(
    x: Any, w_ih: Any, w_hh: Any, h0: Any, saved: Any, grads: Any, attrs: Any
) -> Any:
    """Gradients of both weights, both biases, x and the first state.

    `saved` are h, z, r, n and what r scales, at every step; `grads` those of y and the last state.
    """
    hidden = w_hh.shape[0]
    first = h0.float().reshape(-1, hidden)
    h, z, r, n, hn = (part.float().reshape(len(x), -1, hidden) for part in saved)
    dy, total = grads[0].float().reshape(h.shape), grads[1].float().reshape(-1, hidden)
    dx = torch.zeros(x.shape)
    dw_ih, dw_hh = torch.zeros(w_ih.shape), torch.zeros(w_hh.shape)
    db_ih, db_hh = torch.zeros(w_ih.shape[1]), torch.zeros(w_hh.shape[1])
    for at in reversed(range(len(x))):
        old = h[at - 1] if at else first
        total = total + dy[at]
        dn = total * (1 - z[at]) * (1 - n[at] * n[at])
        dz = total * (old - n[at]) * z[at] * (1 - z[at])
        dr = dn * hn[at] * r[at] * (1 - r[at])
        gi = torch.cat((*_in_order(torch.cat((dr, dz, dn), 1), attrs), dn), 1)
        gh = torch.cat((gi[:, : 2 * hidden], dn * r[at]), 1)
        dx[at] = gi @ w_ih.float().t()
        total = total * z[at] + gh @ w_hh.float().t()
        dw_ih += x[at].float().t() @ gi
        dw_hh += old.t() @ gh
        db_ih += gi.sum(0)
        db_hh += gh.sum(0)
    return dw_ih, dw_hh, db_ih, db_hh, dx, total


__all__ = [
    "dynamic_gru",
    "dynamic_gru_backward",
    "dynamic_rnn",
    "dynamic_rnn_backward",
    "dynamic_rnn_v2_backward",
    "gru",
    "gru_backward",
    "lstm",
    "lstm_backward",
    "lstm_cell",
    "lstm_cell_backward",
]
