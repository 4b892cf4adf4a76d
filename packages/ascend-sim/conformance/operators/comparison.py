# SPDX-License-Identifier: Apache-2.0
"""Compares what an operator gives on the device with what it gives on the CPU; needs torch."""

from __future__ import annotations

import re
from typing import Any

import torch

TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.complex64: 1e-4}
RANDOM = re.compile(
    r"rand|dropout|bernoulli|normal$|normal_|normal\.|uniform|multinomial|exponential|cauchy|geometric"
    r"|log_normal|empty|new_empty|rrelu|fractional_max_pool"
)
# Where each has its dimension among the positional arguments.
ORDERS = {"argsort": 0, "kthvalue": 1, "sort": 0, "topk": 1}


def name_of(op: Any) -> str:
    """The name of an operator and of its variant."""
    return str(op.name) + (f".{op.variant_test_name}" if op.variant_test_name else "")


def is_random(op: Any, sample: Any) -> bool:
    """Whether two calls with the same inputs differ."""
    drops = sample.kwargs.get("dropout_p", 0) or sample.kwargs.get("training", False)
    # OpInfo asks for as many values as a product has, but a difference from M has more of them.
    projects = op.name == "svd_lowrank" and sample.kwargs.get("M") is not None
    return bool(RANDOM.search(name_of(op)) or ("attention" in op.name and drops) or projects)


def determined(op: Any, sample: Any, results: list[Any]) -> list[Any]:
    """The results, with the elements that indices of an order pick in place of the indices.

    Equal elements may come in any order. Indices stay as they are where the caller asks for one
    order, and where an element is picked twice, which is never right.
    """
    place = ORDERS.get(op.name)
    if place is None or sample.kwargs.get("stable") or not sample.input.dim():
        return results
    dim = sample.kwargs.get("dim", sample.args[place] if len(sample.args) > place else -1)
    return [
        item if item.is_floating_point() or index < len(results) - 1 else picked(sample, item, dim)
        for index, item in enumerate(results)
    ]


def picked(sample: Any, indices: Any, dim: int) -> Any:
    """The elements of the input that indices along a dimension stand for."""
    whole_indices = indices if indices.dim() == sample.input.dim() else indices.unsqueeze(dim)
    in_order = whole_indices.sort(dim)[0]
    if bool((in_order.diff(dim=dim) == 0).any()):
        return indices
    return sample.input.detach().gather(dim, whole_indices)


def whole(tensor: Any) -> Any:
    """A sparse tensor as a dense one, and one of zeros without memory as one with memory."""
    if tensor._is_zerotensor():
        return torch.zeros(tensor.shape, dtype=tensor.dtype)
    return tensor.to_dense() if tensor.layout != torch.strided else tensor


def fits(found: list[Any], expected: list[Any], dtype: torch.dtype) -> bool:
    """Whether results are close to those that are expected, for inputs of a type."""
    tolerance = TOLERANCE.get(dtype, 1e-5)
    return len(found) == len(expected) and all(
        _close(a, b, tolerance) for a, b in zip(found, expected)
    )


def same_types(found: list[Any], expected: list[Any]) -> bool:
    """Whether results have the types that the CPU gives."""
    return [item.dtype for item in found] == [item.dtype for item in expected]


def _close(found: Any, expected: Any, tolerance: float) -> bool:
    if found.shape != expected.shape:
        return False
    if not (_inexact(found) or _inexact(expected)):
        return bool(torch.equal(found.long(), expected.long()))
    if not _inexact(found):
        return False
    wide = torch.complex128 if found.is_complex() or expected.is_complex() else torch.float64
    return bool(
        torch.allclose(
            found.to(wide), expected.to(wide), rtol=10 * tolerance, atol=tolerance, equal_nan=True
        )
    )


def _inexact(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def described(results: list[Any]) -> str:
    """The first results in a few words."""
    return str([f"{tuple(x.shape)} {x.dtype} {x.reshape(-1)[:4].tolist()}" for x in results[:2]])
