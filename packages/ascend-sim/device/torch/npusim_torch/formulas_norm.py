# SPDX-License-Identifier: Apache-2.0
"""Normalisation: batches (Ioffe, Szegedy 2015), layers (Ba et al. 2016), RMS (Zhang 2019)."""

from __future__ import annotations

import math
from typing import Any

import torch


def _dims(x: Any) -> list[int]:
    return [dim for dim in range(x.dim()) if dim != 1]


def _channels(x: Any, values: Any) -> Any:
    return values.float().reshape([1, -1] + [1] * (x.dim() - 2))


def batch_norm_stats(x: Any, eps: float) -> Any:
    var, mean = torch.var_mean(x.float(), _dims(x), correction=0)
    return mean, torch.rsqrt(var + eps)


def batch_norm_reduce(x: Any) -> Any:
    return x.float().sum(_dims(x)), x.float().square().sum(_dims(x))


def batch_norm_elemt(x: Any, weight: Any, bias: Any, mean: Any, invstd: Any) -> Any:
    result = (x.float() - _channels(x, mean)) * _channels(x, invstd)
    if weight is not None:
        result = result * _channels(x, weight)
    return result if bias is None else result + _channels(x, bias)


def _running(old: Any, new: Any, momentum: float) -> Any:
    return None if old is None else old * (1 - momentum) + new * momentum


def gather_stats(
    mean: Any,
    invstd: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
    counts: Any,
) -> Any:
    """Statistics of all ranks from each rank's mean, inverse deviation and count."""
    count = counts.double().reshape(-1, 1)
    total = count.sum()
    var = 1 / invstd.double().square() - eps
    mean_all = (mean.double() * count).sum(0) / total
    square = ((var + (mean.double() - mean_all).square()) * count).sum(0)
    unbiased = square / (total - 1)
    return (
        _running(running_mean, mean_all, momentum),
        _running(running_var, unbiased, momentum),
        mean_all,
        torch.rsqrt(square / total + eps),
    )


def sync_gather_stats(
    total: Any,
    square: Any,
    counts: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
) -> Any:
    """As gather_stats, from each rank's sum, sum of squares and count."""
    count = counts.double().sum()
    mean = total.double().sum(0) / count
    var = square.double().sum(0) / count - mean.square()
    return (
        _running(running_mean, mean, momentum),
        _running(running_var, var * count / (count - 1), momentum),
        mean,
        torch.rsqrt(var + eps),
    )


def batch_norm_backward_reduce(grad: Any, x: Any, mean: Any, invstd: Any) -> Any:
    """Sums over all but the channels: dy, dy (x - mean), the weight's and the bias's gradients."""
    sum_dy = grad.float().sum(_dims(x))
    sum_dy_xmu = (grad.float() * (x.float() - _channels(x, mean))).sum(_dims(x))
    return sum_dy, sum_dy_xmu, sum_dy_xmu * invstd.float(), sum_dy


def batch_norm_backward_elemt(
    grad: Any,
    x: Any,
    mean: Any,
    invstd: Any,
    weight: Any,
    sum_dy: Any,
    sum_dy_xmu: Any,
    counts: Any,
) -> Any:
    total = counts.sum()
    centred = x.float() - _channels(x, mean)
    inverse = _channels(x, invstd)
    spread_part = centred * inverse.square() * _channels(x, sum_dy_xmu / total)
    result = (grad.float() - _channels(x, sum_dy / total) - spread_part) * inverse
    return result if weight is None else result * _channels(x, weight)


def lp_norm(x: Any, attrs: Any) -> Any:
    """A vector norm as the older interface asks for it, with infinity as the limit of 32 bits."""
    p, dims = float(attrs.get("p", 2.0)), list(attrs.get("axes", ()))
    order = math.copysign(math.inf, p) if abs(p) >= 2**31 - 1 else p
    return torch.linalg.vector_norm(x.float(), order, dims or None, attrs.get("keepdim", False))


def rms_norm_of(x: Any, gamma: Any, eps: float) -> Any:
    """x / sqrt(mean(x^2) + eps) * gamma, the inverse root, and x."""
    wide = x.float()
    dims = list(range(x.dim() - gamma.dim(), x.dim()))
    rstd = torch.rsqrt(wide.square().mean(dims, keepdim=True) + eps)
    return wide * rstd * gamma.float(), rstd, x


def rms_norm_backward(grad: Any, x: Any, rstd: Any, gamma: Any) -> tuple[Any, Any]:
    """Gradients of x and gamma; rstd is the inverse root that the forward step gave."""
    outer = x.dim() - gamma.dim()
    inverse = rstd.float().reshape(*x.shape[:outer], *[1] * gamma.dim())
    normal = x.float() * inverse
    scaled = grad.float() * gamma.float()
    dims = list(range(outer, x.dim()))
    shared = (scaled * normal).mean(dims, keepdim=True)
    grad_x = (scaled - normal * shared) * inverse
    weighted = grad.float() * normal
    return grad_x, weighted.sum(list(range(outer))) if outer else weighted


def spread(values: Any) -> Any:
    y, rstd, x = values
    return y, y, rstd, x


def inplace_add_rms_norm(x1: Any, x2: Any, gamma: Any, eps: float) -> Any:
    y, rstd, x = rms_norm_of(x1 + x2, gamma, eps)
    return y, x, rstd


def add_layer_norm(x1: Any, x2: Any, gamma: Any, beta: Any, bias: Any, eps: float) -> Any:
    x = x1.float() + x2.float()
    if bias is not None:
        x = x + bias.float()
    y, mean, rstd = torch.native_layer_norm(x, list(gamma.shape), gamma.float(), beta.float(), eps)
    return y, mean, rstd, x


def deep_norm(x: Any, gx: Any, beta: Any, gamma: Any, alpha: float, eps: float) -> Any:
    """Layer normalisation of alpha x + gx (Wang et al. 2022, arXiv 2203.00555)."""
    total = alpha * x.float() + gx.float()
    y, mean, rstd = torch.native_layer_norm(
        total, list(gamma.shape), gamma.float(), beta.float(), eps
    )
    return mean, rstd, y


def group_norm_swish(x: Any, gamma: Any, beta: Any, groups: int, eps: float, scale: Any) -> Any:
    """Group normalisation, then y sigmoid(scale y) where a scale is given."""
    n, channels = x.shape[:2]
    inner = x[0, 0].numel()
    wide = [None if part is None else part.float() for part in (gamma, beta)]
    y, mean, rstd = torch.native_group_norm(
        x.float().contiguous(), *wide, n, channels, inner, groups, eps
    )
    return (y if scale is None else y * torch.sigmoid(scale * y)), mean, rstd


def apply_adam_w(
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    decay: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    grad: Any,
    max_grad: Any,
    maximize: bool,
) -> Any:
    """One step of AdamW (Loshchilov and Hutter 2019): variable, moments, largest gradient.

    The powers are those of the step before, says the vendor's specification of the operator.
    """
    g = -grad.float() if maximize else grad.float()
    m_new = m * beta1 + g * (1 - beta1)
    v_new = v * beta2 + g.square() * (1 - beta2)
    largest = v_new if max_grad is None else torch.maximum(max_grad, v_new)
    bias1, bias2 = 1 - beta1_power * beta1, 1 - beta2_power * beta2
    step = (m_new / bias1) / ((largest / bias2).sqrt() + eps)
    return (
        var * (1 - lr * decay) - lr * step,
        m_new,
        v_new,
        max_grad if max_grad is None else largest,
    )


def apply_adam(
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    grad: Any,
    nesterov: bool,
) -> Any:
    """One step of Adam (Kingma and Ba 2015) with the bias corrected in the learning rate."""
    m_new = m * beta1 + grad * (1 - beta1)
    v_new = v * beta2 + grad.square() * (1 - beta2)
    rate = lr * (1 - beta2_power).sqrt() / (1 - beta1_power)
    top = m_new * beta1 + grad * (1 - beta1) if nesterov else m_new
    return var - rate * top / (v_new.sqrt() + eps), m_new, v_new


__all__ = [
    "add_layer_norm",
    "apply_adam",
    "apply_adam_w",
    "batch_norm_backward_elemt",
    "batch_norm_backward_reduce",
    "batch_norm_elemt",
    "batch_norm_reduce",
    "batch_norm_stats",
    "deep_norm",
    "gather_stats",
    "group_norm_swish",
    "inplace_add_rms_norm",
    "lp_norm",
    "rms_norm_backward",
    "rms_norm_of",
    "spread",
    "sync_gather_stats",
]
