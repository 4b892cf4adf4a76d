# SPDX-License-Identifier: Apache-2.0
"""Fused attention (Vaswani et al. 2017) and rotary position embedding (Su et al. 2021).

Layouts: B batch, N heads, S positions, D features, H = N * D, T all positions of all sequences.
A layout with '_' names that of the query, then that of the output.
"""

from __future__ import annotations

from typing import Any

import torch

ANY = 2147483647
# How a layout becomes B N S D and back.
ORDER = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "SBND": (1, 2, 0, 3)}


def to_heads(x: Any, layout: str, heads: int) -> Any:
    """A view in the order batch, head, position, feature."""
    if layout in {"BSH", "SBH"}:
        x = x.reshape(*x.shape[:2], heads, -1)
        layout = "BSND" if layout == "BSH" else "SBND"
    if layout not in ORDER:
        raise NotImplementedError(f"attention in the layout {layout} is not simulated")
    return x.permute(ORDER[layout])


def from_heads(x: Any, layout: str) -> Any:
    """The opposite of to_heads."""
    if layout == "BNSD":
        return x
    if layout in {"BSH", "BSND"}:
        x = x.permute(0, 2, 1, 3)
        return x.flatten(2) if layout == "BSH" else x
    if layout == "SBH":
        return x.permute(2, 0, 1, 3).flatten(2)
    raise NotImplementedError(f"attention with an output in the layout {layout} is not simulated")


def hidden(rows: int, columns: int, sparse: int, mask: Any, pre: int, next_: int) -> Any:
    """True where a query must not see a key; None where it sees all of them."""
    ahead = torch.arange(columns) - torch.arange(rows).reshape(-1, 1)
    if sparse == 2:
        return ahead > 0
    if sparse == 3:
        return ahead > columns - rows
    if sparse == 4:
        from_end = ahead - (columns - rows)
        return (from_end > next_) | (from_end < -pre)
    if mask is None:
        return None
    covered = mask.bool()[..., :rows, :columns]
    if sparse == 0 and (pre < rows or next_ < columns):
        covered = covered | (ahead > next_) | (ahead < -pre)
    return covered


def repeated(x: Any, heads: int) -> Any:
    """Key and value heads that several query heads share."""
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], 1)


def attend(q: Any, k: Any, scale: float, bias: Any, covered: Any, sink: Any = None) -> Any:
    """In the order B N S D: the probabilities, the largest score and the sum of exponentials."""
    scores = torch.matmul(q, repeated(k, q.shape[1]).transpose(-1, -2)) * scale
    if bias is not None:
        scores = scores + bias
    if covered is not None:
        scores = scores.masked_fill(covered, float("-inf"))
    top = scores.amax(-1, keepdim=True)
    if sink is not None:
        top = torch.maximum(top, sink.reshape(1, -1, 1, 1))
    exponentials = torch.exp(scores - top.masked_fill(top == float("-inf"), 0))
    total = exponentials.sum(-1, keepdim=True)
    if sink is not None:
        total = total + torch.exp(sink.reshape(1, -1, 1, 1) - top)
    probabilities = exponentials / total.masked_fill(total == 0, 1)
    return probabilities, top, total


def kept(drop: Any, keep: float, shape: Any) -> Any:
    """The factors of dropout from a mask of one bit an element, the lowest first."""
    if drop is None or keep >= 1:
        return None
    bits = (drop.reshape(-1, 1) >> torch.arange(8, dtype=torch.uint8)) & 1
    count = int(torch.tensor(shape).prod())
    return bits.reshape(-1)[:count].reshape(shape).float() / keep


def weighted(probabilities: Any, drop: Any, keep: float, v: Any) -> Any:
    factors = kept(drop, keep, probabilities.shape)
    used = probabilities if factors is None else probabilities * factors
    return torch.matmul(used, repeated(v, used.shape[1]))


def kv_heads_of(key: Any, query: Any, heads: int, layout: str) -> int:
    return key.shape[2] * heads // query.shape[2] if layout in {"BSH", "SBH"} else heads


def _flash(
    query: Any,
    key: Any,
    value: Any,
    pse: Any,
    drop: Any,
    mask: Any,
    scale: float,
    keep: float,
    pre: int,
    next_: int,
    heads: int,
    layout: str,
    sparse: int,
    pse_type: int = 1,
) -> Any:
    kv_heads = kv_heads_of(key, query, heads, layout)
    q, k, v = (
        to_heads(x.float(), layout, n)
        for x, n in ((query, heads), (key, kv_heads), (value, kv_heads))
    )
    if pse_type > 1:
        raise NotImplementedError("position bias that the operator makes itself is not simulated")
    covered = hidden(q.shape[2], k.shape[2], sparse, mask, pre, next_)
    probabilities, top, total = attend(q, k, scale, pse, covered)
    return top, total, from_heads(weighted(probabilities, drop, keep, v), layout)


def flash(*arguments: Any) -> Any:
    """Attention for training: the output, after what the backward operator wants eight times."""
    top, total, out = _flash(*arguments)
    return top.expand(*top.shape[:-1], 8), total.expand(*total.shape[:-1], 8), None, out


def _gradients(function: Any, dy: Any, query: Any, key: Any, value: Any) -> Any:
    inputs = [x.detach().float().requires_grad_() for x in (query, key, value)]
    with torch.enable_grad():
        out = function(*inputs)
    return (*torch.autograd.grad(out, inputs, dy.float().reshape(out.shape)), None)


def flash_backward(dy: Any, query: Any, key: Any, value: Any, *settings: Any) -> Any:
    """Gradients of query, key and value; the forward pass is computed again."""
    return _gradients(lambda q, k, v: _flash(q, k, v, *settings)[2], dy, query, key, value)


def spans(lengths: Any) -> Any:
    """(start, end) of each sequence from the sums of the lengths so far."""
    return list(zip([0, *lengths[:-1]], lengths))


def _packed(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    scale: float,
    keep: float,
    pre: int,
    next_: int,
    _heads: int,
    sparse: int,
    q_lengths: Any,
    kv_lengths: Any,
) -> Any:
    if keep < 1:
        raise NotImplementedError("dropout over packed sequences is not simulated")
    parts: list[Any] = []
    for (a, b), (c, d) in zip(spans(q_lengths), spans(kv_lengths)):
        q, k, v = (x.float().transpose(0, 1)[None] for x in (query[a:b], key[c:d], value[c:d]))
        covered = hidden(b - a, d - c, sparse, mask, pre, next_)
        probabilities, top, total = attend(q, k, scale, None, covered)
        rows = (weighted(probabilities, None, 1, v), top, total)
        parts.append([x[0].transpose(0, 1) for x in rows])
    out, top, total = (torch.cat([part[i] for part in parts]) for i in range(3))
    return top, total, out


def flash_packed(*arguments: Any) -> Any:
    """Attention over sequences that lie one after the other (layout TND)."""
    top, total, out = _packed(*arguments)
    return top.expand(*top.shape[:-1], 8), total.expand(*total.shape[:-1], 8), None, out


def flash_packed_backward(dy: Any, query: Any, key: Any, value: Any, *settings: Any) -> Any:
    return _gradients(lambda q, k, v: _packed(q, k, v, *settings)[2], dy, query, key, value)


def plain(refused: Any, drop: Any, keep: float) -> bool:
    """True; an error for what the operators of the 950 take and this device does not."""
    if any(isinstance(item, torch.Tensor) or item for item in refused):
        raise NotImplementedError(
            "attention with rotary parts, scales, sinks or packed sequences is not simulated here"
        )
    if keep < 1 and drop is None:
        raise NotImplementedError("attention that draws its own dropout is not simulated")
    return True


__all__ = ["flash", "flash_backward", "flash_packed", "flash_packed_backward", "plain"]
