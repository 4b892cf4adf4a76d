# SPDX-License-Identifier: Apache-2.0
"""Formulas of operators that only the older interface (aclop) has in this form.

Inputs, outputs and attributes are those with which op-plugin (op_plugin/ops/aclops) calls them.
"""

from __future__ import annotations

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


def view_copied(to: Any, place: tuple[Any, ...], of: Any, part: tuple[Any, ...]) -> Any:
    """``to`` with a part of ``of``; both are given by sizes, steps and where they begin."""
    result = to.clone()
    size, stride, offset = part
    taken = torch.as_strided(of, size.tolist(), stride.tolist(), int(offset))
    size, stride, offset = place
    torch.as_strided(result, size.tolist(), stride.tolist(), int(offset)).copy_(taken)
    return result


EPSILON = 1e-5
"""That of op-plugin's layer_norm_backward_nocheck, which passes none."""


def layer_norm(x: Any, weight: Any, bias: Any, attrs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The normalised values, the means and the variances."""
    shape = list(x.shape[attrs["begin_norm_axis"] :])
    wide = x.float()
    scale, shift = weight.float().reshape(shape), bias.float().reshape(shape)
    dims = tuple(range(x.dim() - len(shape), x.dim()))
    y = torch.nn.functional.layer_norm(wide, shape, scale, shift, attrs.get("epsilon", EPSILON))
    return y, wide.mean(dims), wide.var(dims, unbiased=False)


def layer_norm_backward(
    grad: Any, x: Any, variance: Any, mean: Any, weight: Any
) -> tuple[Any, Any, Any]:
    """The gradients of x, of the weight and of the bias."""
    shape = x.shape[x.dim() - weight.dim() :]
    rstd = torch.rsqrt(variance.float() + EPSILON)
    parts = (grad.float(), x.float(), list(shape), mean.float(), rstd)
    scale = weight.float().reshape(shape)
    found: tuple[Any, Any, Any] = aten.native_layer_norm_backward(
        *parts, scale, torch.zeros_like(scale), [True, True, True]
    )
    return found


def _of_channels(x: Any) -> list[int]:
    return [dim for dim in range(x.dim()) if dim != 1]


def _per_channel(values: Any, x: Any) -> Any:
    """A number a channel, shaped so that it broadcasts over x."""
    return values.float().reshape([1, -1] + [1] * (x.dim() - 2))


def channel_sums(x: Any) -> tuple[Any, Any]:
    """The sums of a channel's numbers and of their squares."""
    wide = x.float()
    return wide.sum(_of_channels(x)), (wide * wide).sum(_of_channels(x))


def batch_norm(
    x: Any, total: Any, squares: Any, scale: Any, offset: Any, mean: Any, variance: Any,
    attrs: dict[str, Any],
) -> tuple[Any, ...]:  # fmt: skip
    """The normalised values, the running mean and variance, and those of the batch."""
    count = x.numel() // x.shape[1]
    own = total.float().flatten() / count
    spread = squares.float().flatten() / count - own * own
    factor = attrs["factor"]
    y = torch.nn.functional.batch_norm(
        x.float(), own, spread, scale.float().flatten(), offset.float().flatten(),
        eps=attrs.get("epsilon", EPSILON),
    )  # fmt: skip
    unbiased = spread * count / max(count - 1, 1)
    kept_mean = (1 - factor) * mean.float().flatten() + factor * own
    kept_variance = (1 - factor) * variance.float().flatten() + factor * unbiased
    return y, kept_mean, kept_variance, own, spread


def batch_norm_weights(
    grad: Any, x: Any, mean: Any, variance: Any, attrs: dict[str, Any]
) -> tuple[Any, Any]:
    """The gradients of the scale and of the offset."""
    rstd = torch.rsqrt(_per_channel(variance, x) + attrs.get("epsilon", EPSILON))
    normal = (x.float() - _per_channel(mean, x)) * rstd
    return (grad.float() * normal).sum(_of_channels(x)), grad.float().sum(_of_channels(x))


def batch_norm_backward(grad: Any, x: Any, channels: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """The gradient of x."""
    dscale, doffset, scale, mean, variance = (_per_channel(each, x) for each in channels)
    count = x.numel() // x.shape[1]
    rstd = torch.rsqrt(variance + attrs.get("epsilon", EPSILON))
    normal = (x.float() - mean) * rstd
    return scale * rstd * (grad.float() - (doffset + normal * dscale) / count)


def distances_backward(grad: Any, x: Any, y: Any, distances: Any, p: float) -> Any:
    """Gradients of the rows of x; all have the shape (..., rows of x, rows of y, width)."""
    if not grad.numel():
        return grad.sum(-2)
    of_pairs = grad[..., 0].contiguous(), distances[..., 0].contiguous()
    rows = x[..., 0, :].contiguous(), y[..., 0, :, :].contiguous()
    return aten._cdist_backward(of_pairs[0], *rows, p, of_pairs[1])


__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "batch_norm_weights",
    "channel_sums",
    "distances_backward",
    "generator_of",
    "layer_norm",
    "layer_norm_backward",
    "multiplied",
    "sliced",
    "view_copied",
]
