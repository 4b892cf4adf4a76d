# SPDX-License-Identifier: Apache-2.0
"""Quantisation to integers and 8-bit floats, with scales and offsets as operators get them."""

from __future__ import annotations

from typing import Any

import torch

from .formulas_norm import rms_norm_of

LIMITS = {torch.int8: 127.0, torch.int32: 7.0}  # eight 4-bit integers lie in an int32


def top_of(out: Any) -> float:
    """The largest number of an output's type."""
    return LIMITS.get(out.dtype) or float(torch.finfo(out.dtype).max)


def rounded_to(x: Any, out: Any, mode: str = "rint") -> Any:
    """x in the type of `out`: rounded and kept inside its limits; int32 holds 4-bit integers."""
    if out.dtype.is_floating_point:
        return x.to(out.dtype)
    functions = {"floor": torch.floor, "ceil": torch.ceil, "trunc": torch.trunc}
    whole = functions.get(mode, torch.round)(x)
    if out.dtype != torch.int32:
        limits = torch.iinfo(out.dtype)
        return whole.clamp(limits.min, limits.max).to(out.dtype)
    nibbles = whole.clamp(-8, 7).to(torch.int64) & 15
    shifts = torch.arange(8) * 4
    packed = (nibbles.reshape(*x.shape[:-1], -1, 8) << shifts).sum(-1)
    return torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32)


def _along(values: Any, x: Any, axis: int) -> Any:
    """Scales a channel, shaped so that they broadcast over x."""
    if values is None or values.numel() == 1 or values.dim() > 1:
        return None if values is None else values.float()
    shape = [1] * x.dim()
    shape[axis] = -1
    return values.float().reshape(shape)


def quantised(x: Any, scale: Any, offset: Any, square: bool, mode: str, axis: int, out: Any) -> Any:
    factor = _along(scale, x, axis)
    y = x.float() * factor * (factor if square else 1)
    shift = _along(offset, x, axis)
    return rounded_to(y if shift is None else y + shift, out, mode)


def quantize(x: Any, scales: Any, zero: Any, axis: int, out: Any) -> Any:
    shift = _along(zero, x, axis)
    y = torch.round(x.float() / _along(scales, x, axis))
    return rounded_to(y if shift is None else y + shift, out)


def group_quant(x: Any, scale: Any, group: Any, offset: Any, out: Any) -> Any:
    """Rows up to the n-th number of `group` have the n-th scale."""
    which = torch.searchsorted(group.long().contiguous(), torch.arange(len(x)), right=True)
    y = x.float() * scale.float()[which]
    return rounded_to(y if offset is None else y + offset.float(), out)


def dynamic_quant(
    x: Any, smooth: Any, group: Any, symmetric: bool, out: Any, mode: str = "pertoken"
) -> Any:
    """A scale a row, that makes its largest number the type's largest."""
    wide = x.float()
    if smooth is not None:
        factor = smooth.float()
        if group is not None:
            rows = wide.reshape(-1, wide.shape[-1])
            ends = group.long().contiguous()
            factor = factor[torch.searchsorted(ends, torch.arange(len(rows)), right=True)]
            factor = factor.reshape(wide.shape)
        wide = wide * factor
    dims = [0, 1, 2][-x.dim() :] if mode == "pertensor" else -1
    if symmetric:
        scale = wide.abs().amax(dims, keepdim=True) / top_of(out)
        y = wide / scale.masked_fill(scale == 0, 1)
        return rounded_to(y, out), scale.squeeze(-1), None
    high, low = wide.amax(dims, keepdim=True), wide.amin(dims, keepdim=True)
    scale = (high - low) / (2 * top_of(out) + 1)
    offset = top_of(out) - high / scale
    return rounded_to(wide / scale + offset, out), scale.squeeze(-1), offset.squeeze(-1)


def fake_quant_tensor(x: Any, scale: Any, zero: Any, enabled: float, low: int, high: int) -> Any:
    if enabled < 1:
        return x, torch.ones_like(x, dtype=torch.bool)
    return torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(
        x, float(scale), int(zero), low, high
    )


def unpacked(x: Any, rows: int | None = None) -> Any:
    """4-bit integers out of int32, the lowest bits first; other types as they are.

    Eight of them lie along the last dimension, or along the one before it in a matrix that has
    fewer rows than that.
    """
    if x.dtype != torch.int32:
        return x.float()
    if rows is not None and x.shape[-2] != rows:
        return unpacked(x.mT).mT
    nibbles = (x.unsqueeze(-1) >> (torch.arange(8, dtype=torch.int32) * 4)) & 15
    return torch.where(nibbles > 7, nibbles - 16, nibbles).flatten(-2).float()


def scale_of(values: Any) -> Any:
    """A scale as a float; in 64 bits the lowest 32 are a float's."""
    if values is None or values.dtype.is_floating_point:
        return None if values is None else values.float()
    bits = values.to(torch.int64) & 0xFFFFFFFF
    return torch.where(bits >= 2**31, bits - 2**32, bits).to(torch.int32).view(torch.float32)


def trans_quant_param(scale: Any, offset: Any) -> Any:
    """A float's bits and a flag in 64 bits; the hardware drops the 13 lowest bits."""
    bits = (scale.float().view(torch.int32).to(torch.int64) & 0xFFFFE000) | (1 << 46)
    if offset is not None:
        bits = bits | ((torch.round(offset.float()).to(torch.int64) & 0x1FF) << 37)
    return bits


def quant_matmul(
    x1: Any,
    x2: Any,
    x1_scale: Any,
    x2_scale: Any,
    y_scale: Any,
    x2_offset: Any,
    y_offset: Any,
    bias: Any,
    t1: bool,
    t2: bool,
    group: int,
    out: Any,
) -> Any:
    """(x1 x2 + integer bias) x2_scale x1_scale + real bias, then the output's scale and offset."""
    if group or x2_offset is not None:
        raise NotImplementedError("a product with scales a group is not simulated")
    a = unpacked(x1).mT if t1 else unpacked(x1)
    y = a.double() @ unpacked(x2.mT if t2 else x2, a.shape[-1]).double()
    whole = bias is not None and not bias.dtype.is_floating_point
    y = (y + bias if whole else y).float()
    if x2_scale is not None:
        y = y * scale_of(x2_scale)
    if x1_scale is not None:
        y = y * (x1_scale.float().unsqueeze(-1) if x1_scale.dim() == 1 else x1_scale.float())
    if bias is not None and not whole:
        y = y + bias.float()
    if y_scale is not None:
        y = y * scale_of(y_scale)
    if y_offset is not None:
        y = y + y_offset.float()
    return rounded_to(y, out) if out.dtype == torch.int8 else y


def antiquantised(weight: Any, scale: Any, offset: Any, group: int, dtype: Any) -> Any:
    """A weight as the matrix unit gets it; the NPU computes it in half precision where x is."""
    wide = torch.float16 if dtype == torch.float16 else torch.float32

    def a_row(values: Any) -> Any:
        rows = values.repeat_interleave(group, 0)[: weight.shape[0]] if group else values
        return rows.to(wide)

    shifted = weight.to(wide) if offset is None else weight.to(wide) + a_row(offset)
    return (shifted * a_row(scale)).to(dtype)


def weight_quant_matmul(
    x: Any,
    weight: Any,
    antiscale: Any,
    antioffset: Any,
    scale: Any,
    offset: Any,
    bias: Any,
    group: int,
    out: Any,
) -> Any:
    """x ((weight + antioffset) antiscale) + bias, then the output's scale and offset."""
    wide = unpacked(weight, x.shape[-1])
    y = x.float() @ antiquantised(wide, antiscale, antioffset, group, x.dtype).float()
    if bias is not None:
        y = y + bias.float()
    if scale is None:
        return y
    y = y * scale_of(scale)
    return rounded_to(y if offset is None else y + offset.float(), out)


def dequantised(x: Any, weight_scale: Any, activation_scale: Any, bias: Any) -> Any:
    """An integer product as real numbers."""
    y = x.float()
    if bias is not None and not bias.dtype.is_floating_point:
        y = y + bias
    if weight_scale is not None:
        y = y * weight_scale.float()
    if activation_scale is not None:
        y = y * activation_scale.float().reshape(*x.shape[:-1], 1)
    return y + bias.float() if bias is not None and bias.dtype.is_floating_point else y


def swiglu_quant(
    x: Any, scale: Any, offset: Any, group: Any, left: bool, mode: str, out: Any
) -> Any:
    if group is not None:
        raise NotImplementedError("quantisation with scales a group is not simulated")
    a, b = x.chunk(2, -1)
    y = torch.nn.functional.silu(a) * b if left else a * torch.nn.functional.silu(b)
    if mode == "dynamic":
        return dynamic_quant(y, scale, None, True, out)[:2]
    y = y / scale.float() if scale is not None else y
    return rounded_to(y if offset is None else y + offset.float(), out), None


def rms_norm_quant(
    x: Any, gamma: Any, beta: Any, scale: Any, offset: Any, eps: float, divide: bool, out: Any
) -> Any:
    normed, rstd, _ = rms_norm_of(x, gamma, eps)
    normed = normed if beta is None else normed + beta.float()
    y = normed / scale.float() if divide else normed * scale.float()
    return rounded_to(y if offset is None else y + offset.float(), out), normed, rstd


def add_rms_norm_quant(
    x1: Any,
    x2: Any,
    gamma: Any,
    beta: Any,
    scale1: Any,
    scale2: Any,
    zero1: Any,
    zero2: Any,
    eps: float,
    divide: bool,
    out: Any,
) -> Any:
    """The two quantised outputs, the sum, and its normalisation."""
    x = x1 + x2
    y1, normed, _ = rms_norm_quant(x, gamma, beta, scale1, zero1, eps, divide, out)
    y2 = None
    if scale2 is not None:
        y2 = rms_norm_quant(x, gamma, beta, scale2, zero2, eps, divide, out)[0]
    return y1, y2, x, normed


def add_rms_norm_dynamic_quant(
    x1: Any, x2: Any, gamma: Any, smooth1: Any, smooth2: Any, beta: Any, eps: float, out: Any
) -> Any:
    x = x1 + x2
    normed = rms_norm_of(x, gamma, eps)[0]
    normed = normed if beta is None else normed + beta.float()
    y1, scale1, _ = dynamic_quant(normed, smooth1, None, True, out)
    if smooth2 is None:
        return y1, None, x, scale1, None
    y2, scale2, _ = dynamic_quant(normed, smooth2, None, True, out)
    return y1, y2, x, scale1, scale2


__all__ = [
    "add_rms_norm_dynamic_quant",
    "add_rms_norm_quant",
    "dequantised",
    "dynamic_quant",
    "fake_quant_tensor",
    "group_quant",
    "quant_matmul",
    "quantised",
    "quantize",
    "rms_norm_quant",
    "swiglu_quant",
    "trans_quant_param",
    "weight_quant_matmul",
]
