# SPDX-License-Identifier: Apache-2.0
"""Formulas of operators that only the older interface (aclop) has in this form.

Inputs, outputs and attributes are those with which op-plugin (op_plugin/ops/aclops) calls them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from .formulas_basic import generator

aten = torch.ops.aten


def generator_of(key: Any, counter: Any) -> torch.Generator:
    """The random numbers of a seed and an offset, which are the last in their tensors."""
    return generator(int(key.flatten()[-1]), int(counter.flatten()[-1]))


def sliced(x: Any, begin: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None) -> Any:
    """A part of x from ``begin`` on, of ``sizes`` (-1 for all that is left), with ``steps``."""
    for dim, start in enumerate(begin):
        step = steps[dim] if steps else 1
        first = start % max(x.shape[dim], 1)
        size = sizes[dim] if sizes[dim] >= 0 else x.shape[dim] - first
        x = x.narrow(dim, first, (size - 1) * step + 1 if size else 0)[
            tuple([slice(None)] * dim + [slice(None, None, step)])
        ]
    return x


def multiplied(x: Any, axes: Sequence[int]) -> Any:
    """The product over several axes."""
    for axis in sorted((axis % max(x.dim(), 1) for axis in axes), reverse=True):
        x = torch.prod(x, axis) if x.dim() else x
    return x


def layer_norm(x: Any, weight: Any, bias: Any, attrs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The normalised values, the means and the reciprocal deviations."""
    shape = x.shape[attrs["begin_norm_axis"] :]
    epsilon = attrs.get("epsilon", 1e-5)
    parts = (x.float(), list(shape), weight.float().reshape(shape), bias.float().reshape(shape))
    found: tuple[Any, Any, Any] = aten.native_layer_norm(*parts, epsilon)
    return found


def layer_norm_backward(
    grad: Any, x: Any, rstd: Any, mean: Any, weight: Any
) -> tuple[Any, Any, Any]:
    """The gradients of x, of the weight and of the bias."""
    dims = x.dim() - weight.dim()
    rows = x.float().reshape(-1, math.prod(weight.shape))
    normal = (rows - mean.float().reshape(-1, 1)) * rstd.float().reshape(-1, 1)
    given = grad.float().reshape(rows.shape)
    scaled = given * weight.float().reshape(1, -1)
    centred = scaled - scaled.mean(1, keepdim=True)
    slope = (scaled * normal).mean(1, keepdim=True)
    dx = (centred - normal * slope) * rstd.float().reshape(-1, 1)
    shape = x.shape[dims:]
    return dx.reshape(x.shape), (given * normal).sum(0).reshape(shape), given.sum(0).reshape(shape)


__all__ = [
    "generator_of",
    "layer_norm",
    "layer_norm_backward",
    "multiplied",
    "sliced",
]
