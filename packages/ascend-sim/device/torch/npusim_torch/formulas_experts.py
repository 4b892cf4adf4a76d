# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts: routing, products a group, and their way back."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from .formulas_gated import swiglu


def _ended(experts: Any, finished: Any, count: int) -> Any:
    """Rows that are finished go to the expert that does not exist."""
    if finished is None:
        return experts
    return experts.masked_fill(finished.bool().reshape(*experts.shape[:-1], 1), count)


def _ranked(values: Any, k: int) -> Any:
    """The k largest; of equal ones the first."""
    ordered, indices = torch.sort(values, dim=-1, descending=True, stable=True)
    return ordered[..., :k], indices[..., :k]


def gating_softmax(x: Any, finished: Any, k: int) -> Any:
    y, experts = _ranked(torch.softmax(x.float(), -1), k)
    rows = y[..., 0].numel()
    numbers = torch.arange(rows * k).reshape(k, rows).transpose(0, 1).reshape(y.shape)
    return y, _ended(experts, finished, x.shape[-1]), numbers


def gating_softmax_v2(x: Any, finished: Any, k: int, renorm: int, output: bool) -> Any:
    probabilities = torch.softmax(x.float(), -1)
    if renorm:
        values, experts = _ranked(x.float(), k)
        y = torch.softmax(values, -1)
    else:
        y, experts = _ranked(probabilities, k)
    wanted = probabilities if output and not renorm else None
    return y, _ended(experts, finished, x.shape[-1]), wanted


def gating_top_k(
    x: Any,
    bias: Any,
    k: int,
    k_group: int,
    groups: int,
    select: int,
    norm: int,
    factor: float,
    eps: float,
) -> Any:
    """Experts out of the best groups (DeepSeek-V3, arXiv 2412.19437, section 2.1.2)."""
    normed = torch.sigmoid(x.float()) if norm == 1 else torch.softmax(x.float(), -1)
    scores = normed if bias is None else normed + bias.float()
    if groups > 1:
        parts = scores.reshape(*scores.shape[:-1], groups, -1)
        best = parts.topk(2, -1)[0].sum(-1) if select == 1 else parts.amax(-1)
        chosen = torch.zeros_like(best).scatter(-1, _ranked(best, k_group)[1], 1).bool()
        scores = parts.masked_fill(~chosen.unsqueeze(-1), float("-inf")).flatten(-2)
    experts = _ranked(scores, k)[1]
    y = normed.gather(-1, experts)
    if norm == 1:
        y = y / (y.sum(-1, keepdim=True) + eps)
    return y * factor, experts, normed


def init_routing(x: Any, row: Any, expert: Any, active: int) -> Any:
    rows, k = expert.shape
    experts, order = torch.sort(expert.reshape(-1), stable=True)
    sources = row.reshape(-1)[order].long()
    place = torch.empty_like(sources)
    place[sources] = torch.arange(sources.numel())
    return x[sources[: min(active, rows) * k] % rows], place, experts


def init_routing_v2(
    x: Any, expert: Any, active: int, capacity: int, experts: int, drop_pad: int, count_flag: int
) -> Any:
    """As init_routing, with the rows in the order of `expert`; with drop_pad, a capacity each."""
    k = expert.shape[-1]
    flat = expert.reshape(-1).long()
    ordered, order = torch.sort(flat, stable=True)
    counts = torch.bincount(flat, minlength=max(experts, 1))
    place = torch.empty_like(order)
    if drop_pad == 0:
        place[order] = torch.arange(order.numel())
        limit = active or order.numel()
        found = counts.cumsum(0) if count_flag == 1 else counts
        return x[order[:limit] // k], place, found, None
    starts = counts.cumsum(0) - counts
    rank = torch.arange(order.numel()) - starts[ordered]
    fits = rank < capacity
    slot = ordered * capacity + rank
    expanded = torch.zeros(experts * capacity, x.shape[-1], dtype=x.dtype)
    expanded[slot[fits]] = x[order[fits] // k]
    place[order] = torch.where(fits, slot, torch.full_like(slot, -1))
    return expanded.reshape(experts, capacity, -1), place, None, counts


def finalize_routing(
    x: Any, skip1: Any, skip2: Any, bias: Any, scales: Any, row: Any, expert: Any, drop_pad: int
) -> Any:
    """skip1 + skip2 + the sum over k of scale (x[place] + bias[expert]); place -1 counts as 0."""
    k = scales.shape[1] if scales is not None else 1
    places = row.reshape(k, -1).transpose(0, 1) if drop_pad < 2 else row.reshape(-1, k)
    flat = x.reshape(-1, x.shape[-1]).float()
    values = flat[places.long().clamp(min=0)] * (places >= 0).unsqueeze(-1)
    if bias is not None and expert is not None:
        values = values + bias.float()[expert.long().reshape(places.shape)]
    if scales is not None:
        values = values * scales.float().unsqueeze(-1)
    total = values.sum(1)
    for skip in (skip1, skip2):
        total = total if skip is None else total + skip.float()
    return total


def token_permute(tokens: Any, indices: Any) -> Any:
    """Tokens in the order of their experts, and where each copy went."""
    k = 1 if indices.dim() == 1 else indices.shape[1]
    order = torch.argsort(indices.reshape(-1), stable=True)
    return tokens[order // k], torch.argsort(order, stable=True)


def gathered(rows: Any, places: Any) -> Any:
    """Rows at places; a place beyond the end has zeros."""
    inside = places.long() < rows.shape[0]
    return rows[places.long().clamp(max=rows.shape[0] - 1)] * inside.unsqueeze(-1)


def token_unpermute(tokens: Any, positions: Any, probs: Any) -> Any:
    k = 1 if probs is None else probs.shape[1]
    values = gathered(tokens.float(), positions).reshape(-1, k, tokens.shape[-1])
    return values.sum(1) if probs is None else (values * probs.float().unsqueeze(-1)).sum(1)


def token_unpermute_backward(tokens: Any, grad: Any, positions: Any, probs: Any) -> Any:
    inputs = [x.detach().float().requires_grad_() for x in (tokens, probs) if x is not None]
    with torch.enable_grad():
        out = token_unpermute(inputs[0], positions, inputs[1] if len(inputs) > 1 else None)
    grads = torch.autograd.grad(out, inputs, grad.float())
    return grads[0], grads[1] if len(grads) > 1 else None


def _activated(x: Any, kind: int) -> Any:
    functions = {
        0: lambda v: v,
        1: torch.relu,
        2: lambda v: F.gelu(v, approximate="tanh"),
        4: lambda v: v * torch.sigmoid(1.702 * v),
        5: F.silu,
    }
    return functions[kind](x)


def _first(items: Any, index: int) -> Any:
    """The item of a group: of a list of one, its part a group; None where there is none."""
    if not items or items[0] is None or items[0].numel() == 0:
        return None
    if len(items) > 1:
        return items[index]
    return items[0][index] if items[0].dim() > 1 else items[0]


def _expert(weights: Any, index: int, antiscale: Any, antioffset: Any) -> Any:
    weight = weights[index] if len(weights) > 1 else weights[0]
    weight = weight[index] if weight.dim() == 3 else weight
    scale, offset = _first(antiscale, index), _first(antioffset, index)
    wide = weight.float() if offset is None else weight.float() + offset.float()
    return wide if scale is None else wide * scale.float()


def _ends(groups: Any, list_kind: int) -> list[int]:
    values = torch.as_tensor(groups).reshape(-1).long()
    return [int(end) for end in (values.cumsum(0) if list_kind == 1 else values)]


def grouped_matmul(
    x: Any,
    weights: Any,
    bias: Any,
    scale: Any,
    antiscale: Any,
    antioffset: Any,
    token_scale: Any,
    groups: Any,
    outputs: int,
    kind: int,
    list_kind: int,
    act: int,
) -> Any:
    """A product for each group of rows (kind 0), of columns (2), or of whole tensors (-1)."""
    if kind == 2:
        ends = _ends(groups, list_kind)
        starts = [0, *ends[:-1]]
        left, right = x[0].float(), weights[0].float()
        parts = [left[:, a:b] @ right[a:b] for a, b in zip(starts, ends)]
        return [torch.stack(parts)]
    if len(x) > 1 or groups is None or kind == -1:
        rows = [item.float() for item in x]
    else:
        ends = _ends(groups, list_kind)
        rows = [x[0][a:b].float() for a, b in zip([0, *ends[:-1]], ends)]
    parts, done = [], 0
    for index, part in enumerate(rows):
        y = part @ _expert(weights, index, antiscale, antioffset)
        for factor in (_first(scale, index),):
            y = y if factor is None else y * factor.float()
        if token_scale and token_scale[0] is not None:
            y = y * token_scale[0].reshape(-1, 1)[done : done + len(part)].float()
        offset = _first(bias, index)
        parts.append(_activated(y if offset is None else y + offset.float(), act))
        done += len(part)
    if outputs == 1 and len(parts) > 1:
        joined = torch.cat(parts)
        short = x[0].shape[0] - joined.shape[0] if len(x) == 1 else 0
        return [F.pad(joined, (0, 0, 0, short))]
    return parts


def _geglu(x: Any) -> Any:
    a, b = x.chunk(2, -1)
    return F.gelu(a) * b


def ffn(
    x: Any, w1: Any, w2: Any, tokens: Any, b1: Any, b2: Any, name: str, index: bool, quantised: Any
) -> Any:
    """act(x w1 + b1) w2 + b2, an expert for each group of rows."""
    if any(item is not None for item in quantised):
        raise NotImplementedError("a quantised FFN is not simulated")
    functions = {
        "relu": torch.relu,
        "gelu": F.gelu,
        "silu": F.silu,
        "swiglu": swiglu,
        "geglu": _geglu,
    }
    act = functions.get(name, lambda v: v * torch.sigmoid(1.702 * v))
    rows = x.reshape(-1, x.shape[-1]).float()
    single = tokens is None or len(tokens) == 0
    ends = [len(rows)] if single else _ends(tokens, 0 if index else 1)
    parts = []
    for number, (a, b) in enumerate(zip([0, *ends[:-1]], ends)):
        first, second = ((w[number] if w.dim() == 3 else w).float() for w in (w1, w2))
        c, d = (bias if single else _first([bias], number) for bias in (b1, b2))
        hidden = rows[a:b] @ first
        y = act(hidden if c is None else hidden + c.float()) @ second
        parts.append(y if d is None else y + d.float())
    return torch.cat(parts).reshape(*x.shape[:-1], -1)


__all__ = [
    "ffn",
    "finalize_routing",
    "gathered",
    "gating_softmax",
    "gating_softmax_v2",
    "gating_top_k",
    "grouped_matmul",
    "init_routing",
    "init_routing_v2",
    "token_permute",
    "token_unpermute",
    "token_unpermute_backward",
]
