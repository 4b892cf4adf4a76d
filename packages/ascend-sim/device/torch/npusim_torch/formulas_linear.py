# SPDX-License-Identifier: Apache-2.0
"""Decompositions, convolutions and transforms."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

QR_MODES = ("reduced", "complete", "r")


def linalg_qr(x: Any, mode: int) -> Any:
    q, r = torch.linalg.qr(x, QR_MODES[mode])
    return (q if q.numel() else None), r


def svd(x: Any, full: bool, compute: bool) -> Any:
    """x = u diag(s) v^H; the third output is v, not v^H."""
    if not compute:
        return torch.linalg.svdvals(x), None, None
    u, s, vh = torch.linalg.svd(x, full_matrices=full)
    return s, u, vh.mH


def stft(
    x: Any,
    window: Any,
    fft: int,
    hop: int,
    length: int,
    normalized: bool,
    onesided: bool,
    as_complex: bool,
) -> Any:
    """The short-time Fourier transform of x as it is: the caller has padded it."""
    found = torch.stft(
        x,
        fft,
        hop,
        length,
        window,
        center=False,
        normalized=normalized,
        onesided=onesided,
        return_complex=True,
    )
    return found if as_complex else torch.view_as_real(found)


def per_axis(padding: Any, weight: Any) -> Any:
    """One size of padding a dimension; where they come in pairs, both must be the same."""
    if len(padding) != 2 * (weight.dim() - 2):
        return padding
    first, second = padding[::2], padding[1::2]
    if first != second:
        raise NotImplementedError("padding that differs in front and behind is not simulated")
    return first


def filter_of(weight: Any, transposed: bool) -> Any:
    """The filter; the NPU refuses an empty one in a transposed convolution."""
    if transposed and weight.numel() == 0:
        raise ValueError(f"a transposed convolution with a filter of shape {list(weight.shape)}")
    return weight


def convolution_backward(x: Any, weight: Any, grad: Any, attrs: Any, wanted: int) -> Any:
    """The gradient of x (0), of which only the shape is used, or of the filter (1)."""
    geometry = (attrs["strides"][2:], attrs["pads"][::2], attrs["dilations"][2:])
    mask = [number == wanted for number in range(3)]
    rest = (False, [0, 0], attrs.get("groups", 1), mask)
    return torch.ops.aten.convolution_backward(grad, x, weight, None, *geometry, *rest)[wanted]


def conv_tbc_backward(grad: Any, x: Any, weight: Any, bias: Any, pad: int) -> Any:
    return torch.ops.aten.conv_tbc_backward(grad, x, weight, bias, pad)


def fused_matmul(a: Any, b: Any, bias: Any, extra: Any, kind: str) -> Any:
    result = torch.matmul(a, b)
    if bias is not None:
        result = result + bias
    if kind in {"add", "mul"}:
        return result + extra if kind == "add" else result * extra
    if kind.startswith("gelu"):
        return F.gelu(result, approximate="tanh" if "tanh" in kind else "none")
    return torch.relu(result) if kind == "relu" else result


def deformable_conv2d(
    x: Any,
    weight: Any,
    offset: Any,
    bias: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    offset_groups: int,
) -> Any:
    """Modulated deformable convolution (Zhu et al., 2018, arXiv 1811.11168).

    The offsets hold, a group of channels, all rows' shifts, all columns' shifts, then the masks.
    """
    n, channels, height, width = x.shape
    kh, kw = kernel
    out_h, out_w = offset.shape[-2:]
    parts = offset.reshape(n, 3, offset_groups, kh * kw, out_h, out_w)
    rows = torch.arange(out_h).reshape(1, -1, 1) * stride[-2] - padding[0]
    columns = torch.arange(out_w).reshape(1, 1, -1) * stride[-1] - padding[2]
    tap_rows = (torch.arange(kh) * dilation[-2]).repeat_interleave(kw).reshape(-1, 1, 1)
    tap_columns = (torch.arange(kw) * dilation[-1]).repeat(kh).reshape(-1, 1, 1)
    y = parts[:, 0] + rows + tap_rows
    z = parts[:, 1] + columns + tap_columns
    grid = torch.stack((2 * z / max(width - 1, 1) - 1, 2 * y / max(height - 1, 1) - 1), -1)
    samples = F.grid_sample(
        x.reshape(n * offset_groups, channels // offset_groups, height, width),
        grid.reshape(n * offset_groups, kh * kw * out_h, out_w, 2).to(x.dtype),
        align_corners=True,
    ).reshape(n, offset_groups, -1, kh * kw, out_h, out_w) * parts[:, 2].unsqueeze(2)
    columns_of = samples.reshape(n, groups, channels // groups * kh * kw, out_h * out_w)
    filters = weight.reshape(groups, weight.shape[0] // groups, -1)
    result = torch.einsum("gok,ngkp->ngop", filters, columns_of).reshape(n, -1, out_h, out_w)
    return (result if bias is None else result + bias.reshape(1, -1, 1, 1)), None


def matrix_product(x: Any, y: Any, bias: Any, first: bool, second: bool) -> Any:
    """The product of two matrices, or of two batches, of which either may be transposed."""
    left = x.float().transpose(-1, -2) if first else x.float()
    right = y.float().transpose(-1, -2) if second else y.float()
    return left @ right if bias is None else left @ right + bias.float()


__all__ = [
    "conv_tbc_backward",
    "convolution_backward",
    "deformable_conv2d",
    "filter_of",
    "fused_matmul",
    "linalg_qr",
    "matrix_product",
    "per_axis",
    "stft",
    "svd",
]
