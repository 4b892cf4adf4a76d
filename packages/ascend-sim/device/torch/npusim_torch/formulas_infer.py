# SPDX-License-Identifier: Apache-2.0
"""Fused attention for inference, with keys and values in a cache, which may be paged."""

from __future__ import annotations

from typing import Any

import torch

from .formulas_attention import ANY, attend, from_heads, hidden, spans, to_heads, weighted


def paged(cache: Any, table: Any, length: Any, heads: int) -> Any:
    """One sequence's keys or values, N S D, out of the blocks that its row of the table names."""
    pages = cache[table.long()]
    if pages.dim() == 3:  # block, position, heads * features
        rows = pages.flatten(0, 1)[:length]
        return rows.reshape(length, heads, -1).transpose(0, 1)
    rows = pages.transpose(0, 1).flatten(1, 2)  # block, head, position, feature
    return rows[:, :length]


def infer_attention(
    query: Any,
    keys: Any,
    values: Any,
    *,
    heads: int,
    scale: float,
    layout: str,
    kv_heads: int,
    sparse: int,
    pse: Any = None,
    mask: Any = None,
    q_lengths: Any = None,
    kv_lengths: Any = None,
    pre: int = ANY,
    next_: int = ANY,
    blocks: Any = None,
    lse: bool = False,
    q_rope: Any = None,
    k_rope: Any = None,
    sink: Any = None,
    refused: Any = (),
) -> Any:
    """Attention for inference, a sequence at a time: the output, and log of the sum."""
    if any(item is not None for item in refused):
        raise NotImplementedError(
            "attention with quantised, padded or shared keys is not simulated"
        )
    inner, _, outer = layout.partition("_")
    if inner == "NTD":
        query = query.transpose(0, 1)
    source = (inner, kv_heads or heads, kv_lengths, blocks)
    parts = _parts((query, q_rope), (keys, [k_rope]), (inner, heads, q_lengths), source)
    outs, sums = [], []
    for b, (q, k) in enumerate(parts):
        v = _cached(values, b, *source)
        covered = hidden(q.shape[1], k.shape[1], sparse, _of(mask, b), pre, next_)
        bias = None if pse is None else _of(pse, b)[..., : q.shape[1], : k.shape[1]]
        found, top, total = attend(q[None], k[None], scale, bias, covered, sink)
        outs.append(weighted(found, None, 1, v[None])[0])
        sums.append((top + torch.log(total))[0])
    out, logs = _together(outs, sums, query, (inner, outer or inner), heads)
    return out, logs if lse else None


def _parts(queries: Any, keys: Any, how: Any, source: Any) -> Any:
    """Each sequence's queries and keys, with the rotated features of both at their ends."""
    parts = [(q, _cached(keys[0], b, *source)) for b, q in enumerate(_sequences(queries[0], *how))]
    if queries[1] is None:
        return parts
    turned = _sequences(queries[1], *how)
    return [
        (torch.cat((q, turned[b]), -1), torch.cat((k, _cached(keys[1], b, *source)), -1))
        for b, (q, k) in enumerate(parts)
    ]


def _together(outs: Any, sums: Any, query: Any, layouts: tuple[str, str], heads: int) -> Any:
    """The sequences' outputs and sums as one tensor each, in the output's layout."""
    inner, outer = layouts
    if inner in {"TND", "NTD"}:
        merged, logs = torch.cat(outs, 1), torch.cat(sums, 1).transpose(0, 1)
        return (merged if outer == "NTD" else merged.transpose(0, 1)), logs
    out = from_heads(_stacked(outs, query, inner, heads), outer)
    return out, _stacked(sums, query, inner, heads)


def _of(x: Any, b: int) -> Any:
    """One sequence's part of a mask or bias that may be shared by all."""
    if x is None or x.dim() < 3:
        return x
    return x[b if x.shape[0] > 1 else 0]


def _sequences(query: Any, layout: str, heads: int, lengths: Any) -> Any:
    """Each sequence's queries, N S D."""
    if layout in {"TND", "NTD"}:
        return [query[a:b].float().transpose(0, 1) for a, b in spans(lengths)]
    rows = to_heads(query.float(), layout, heads)
    if not lengths:
        return list(rows)
    ends = lengths if len(lengths) == len(rows) else lengths * len(rows)
    return [row[:, :end] for row, end in zip(rows, ends)]


def _cached(items: Any, b: int, layout: str, heads: int, lengths: Any, blocks: Any) -> Any:
    """Sequence b's keys or values, N S D."""
    end = None if not lengths else lengths[b if len(lengths) > 1 else 0]
    if blocks is not None:
        return paged(items[0], blocks[b], end, heads).float()
    if layout in {"TND", "NTD"}:
        a, c = spans(lengths)[b]
        rows = items[0].transpose(0, 1) if layout == "NTD" else items[0]
        return rows[a:c].float().transpose(0, 1)
    one = items[b][:1] if len(items) > 1 else items[0][b : b + 1]
    if layout == "SBH":
        one = items[0][:, b : b + 1]
    return to_heads(one.float(), layout, heads)[0][:, :end]


def _stacked(parts: Any, query: Any, layout: str, heads: int) -> Any:
    """The sequences together again; positions that a query does not have are zeros."""
    length = to_heads(query, layout, heads).shape[2]
    full = [torch.nn.functional.pad(x, (0, 0, 0, length - x.shape[1])) for x in parts]
    return torch.stack(full)


__all__ = ["infer_attention"]
