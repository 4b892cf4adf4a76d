# SPDX-License-Identifier: Apache-2.0
"""Selection and scattering."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten
SCATTERS = (None, "sum", "prod", "amax", "amin", "mean")


def places(indices: Any) -> Any:
    """Indices in a type that PyTorch takes; an absent one selects a whole dimension.

    So does an empty one beside others, as torch_npu hands over absent ones.
    """
    some = any(item is not None and item.numel() for item in indices)
    return [
        None
        if item is None or (some and item.shape == (0,))
        else (item if item.dtype in {torch.bool, torch.uint8} else item.long())
        for item in indices
    ]


def indexed(x: Any, indices: Any, out: Any) -> Any:
    return aten.index(x, places(indices)) if out.numel() else torch.empty_like(out)


def index_put(x: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    return aten.index_put(x, places(indices), values.to(x.dtype), accumulate)


def scattered(x: Any, dim: int, index: Any, source: Any, reduce: int) -> Any:
    """Replace, add or multiply, by the vendor's number."""
    if reduce == 0:
        return aten.scatter(x, dim, index.long(), source)
    return aten.scatter(x, dim, index.long(), source, reduce=("add", "multiply")[reduce - 1])


def scatter_reduced(x: Any, dim: int, index: Any, source: Any, reduce: int, include: bool) -> Any:
    name = SCATTERS[reduce]
    if name is None:
        return aten.scatter(x, dim, index.long(), source)
    return aten.scatter_reduce(x, dim, index.long(), source, name, include_self=include)


def scatter_nd(x: Any, indices: Any, updates: Any) -> Any:
    """Rows of x named by the last dimension of the indices become the updates."""
    result = x.clone()
    result[tuple(indices.long().unbind(-1))] = updates
    return result


def joined(items: Any) -> Any:
    """What takes part in a concatenation: PyTorch's empty vectors fit everything."""
    kept = [item for item in items if item is not None and item.shape != (0,)]
    return kept or [items[0]]


def embedding_bag(*arguments: Any) -> Any:
    *inputs, max_indices = arguments
    weight, indices, offsets, *rest = inputs
    found = aten._embedding_bag(weight, indices.long(), offsets.long(), *rest)
    return tuple(
        part if part.numel() == out.numel() or index == 0 else None
        for index, (part, out) in enumerate(
            (part, max_indices if i == 3 else part) for i, part in enumerate(found)
        )
    )


def strided_slice(x: Any, begin: Any, end: Any, strides: Any) -> Any:
    steps = [(slice(b, e, s)) for b, e, s in zip(begin, end, strides)]
    return x[tuple(steps)]


def coalesced(groups: Any, indices: Any, values: Any, places: Any, sums: Any) -> Any:
    """The place of each group of equal indices, and the sum of its values.

    The kernel adds to what the output has, which op-plugin fills with zeros
    (op_plugin/ops/opapi/sparse, _coalesce_sparse).
    """
    return places.index_copy(0, groups, indices.to(places.dtype)), sums.index_add(0, groups, values)


__all__ = [
    "coalesced",
    "embedding_bag",
    "index_put",
    "indexed",
    "joined",
    "scatter_nd",
    "scatter_reduced",
    "scattered",
    "strided_slice",
]
