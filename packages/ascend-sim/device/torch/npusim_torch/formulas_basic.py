# SPDX-License-Identifier: Apache-2.0
"""Helpers of expressions, activations and losses."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten
ROUNDING = (None, "trunc", "floor")
REDUCTIONS = ("none", "mean", "sum")


def given(scale: float) -> float | None:
    """A scale of interpolation, or None where the caller gave none."""
    return scale if scale > 0 else None


def pair(values: Any) -> tuple[Any, Any]:
    first, second = values
    return first, second


def twice(value: Any) -> tuple[Any, Any]:
    return value, value


def wider(out: torch.Tensor) -> torch.dtype:
    """The type in which a floating result is computed before it is rounded to the output's."""
    narrow = out.dtype in {torch.float16, torch.bfloat16}
    return torch.float32 if narrow else out.dtype


def subtracted(a: Any, b: Any, alpha: Any) -> Any:
    """a - alpha * b; of booleans too, which PyTorch refuses but the vendor's operator takes."""
    if a.dtype == torch.bool and b.dtype == torch.bool:
        a = a.to(torch.int32)
    return aten.sub(a, b, alpha=alpha)


def larger_or_smaller(name: str, a: Any, b: Any) -> Any:
    """The larger or the smaller number; of complex ones by their real parts."""
    if not (a.is_complex() or b.is_complex()):
        return getattr(aten, name)(a, b)
    kept = a.real >= b.real if name == "maximum" else a.real <= b.real
    return torch.where(kept, a, b)


def along(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A weight a channel, shaped so that it broadcasts over x."""
    if weight.numel() == 1 or x.dim() < 2:
        return weight.reshape([1] * x.dim()) if weight.numel() == 1 else weight
    return weight.reshape([1, -1] + [1] * (x.dim() - 2))


def prelu_backward(grad: Any, x: Any, weight: Any) -> tuple[Any, Any]:
    """Gradients of x and of the weight."""
    grad_x, grad_w = aten._prelu_kernel_backward(grad, x, along(x, weight))
    if weight.numel() == 1:
        return grad_x, grad_w.sum().reshape(weight.shape)
    dims = [dim for dim in range(x.dim()) if dim != (1 if x.dim() > 1 else 0)]
    return grad_x, grad_w.sum(dims) if dims else grad_w


def generator(seed: int, offset: int) -> torch.Generator:
    """Random numbers that a seed and an offset determine."""
    return torch.Generator().manual_seed((seed * 1000003 + offset) % 2**63)


def paired(items: list[Any], numbers: list[Any]) -> list[tuple[Any, Any]]:
    """Tensors of a list with a number each, or with the only one."""
    return list(zip(items, numbers if len(numbers) > 1 else numbers * len(items)))


def unscaled(gradients: list[Any], found: Any, scale: Any) -> tuple[list[Any], Any]:
    """Gradients by the scale; a 1 where one of them is not finite."""
    finite = all(bool(gradient.isfinite().all()) for gradient in gradients)
    return [gradient * scale for gradient in gradients], None if finite else torch.ones_like(found)


def rrelu(
    x: Any, noise: Any, low: float, high: float, training: bool, seed: int, offset: int
) -> Any:
    """Randomized leaky ReLU: its values, and the slopes that they were made with."""
    if not training:
        return torch.where(x > 0, x, x * ((low + high) / 2)), None
    drawn = torch.rand(x.shape, generator=generator(seed, offset)) * (high - low) + low
    slopes = torch.where(x > 0, torch.ones_like(drawn), drawn)
    return x * slopes.to(x.dtype), slopes.to(noise.dtype)


def rounded(x: Any, mode: int) -> Any:
    """By the vendor's number of a mode: nearest even, floor, ceil, away from zero, towards zero."""
    away = lambda v: torch.sign(v) * torch.floor(torch.abs(v) + 0.5)  # noqa: E731
    functions = {1: torch.round, 2: torch.floor, 3: torch.ceil, 4: away, 5: torch.trunc}
    return torch.frac(x) if mode == 7 else functions[int(mode)](x)


def many(function: Any, x: Any, dims: Any, keep: bool) -> Any:
    """A reduction over several dimensions by one that takes only one."""
    if not dims:
        return function(x.reshape(-1), 0).reshape([1] * x.dim() if keep else [])
    for dim in sorted((d % max(x.dim(), 1) for d in dims), reverse=True):
        x = function(x, dim, keep)
    return x


def renorm(x: Any, p: float, dim: int, largest: float) -> Any:
    """Parts along a dimension, none with a larger norm; that of 0 counts what is not 0."""
    if p > 0:
        return aten.renorm(x, p, dim, largest)
    others = [d for d in range(x.dim()) if d != dim % x.dim()]
    norms = torch.linalg.vector_norm(x, p, others, keepdim=True)
    return torch.where(norms > largest, x * (largest / (norms + 1e-7)), x)


def histc(x: Any, bins: int, low: float, high: float) -> Any:
    if not x.is_floating_point():
        return torch.histc(x.double(), bins, low, high)
    return torch.histc(x, bins, low, high)


def kl_div_backward(grad: Any, x: Any, target: Any, reduction: int, log_target: bool) -> Any:
    """Gradients of the input and of the target."""
    x, target = x.detach().requires_grad_(), target.detach().requires_grad_()
    with torch.enable_grad():
        loss = aten.kl_div(x, target, reduction, log_target=log_target)
        return torch.autograd.grad(loss, (x, target), grad.expand_as(loss))


def max_pool2d_backward(grad: Any, x: Any, *settings: Any) -> Any:
    """The places of the maxima are found again, so the caller's mask is not needed."""
    _, indices = aten.max_pool2d_with_indices(x, *settings)
    return aten.max_pool2d_with_indices_backward(grad, x, *settings, indices)


def ctc_loss(
    log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int, zero_infinity: bool
) -> Any:
    """The loss; the table of alphas, laid out otherwise on hardware, stays unwritten."""
    found = aten._ctc_loss(log_probs.float(), targets, inputs, lengths, blank, zero_infinity)
    return found[0], None


def ctc_loss_backward(
    grad: Any,
    log_probs: Any,
    targets: Any,
    inputs: Any,
    lengths: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    """The loss is computed again: its table of alphas is laid out otherwise on hardware."""
    values = log_probs.float()
    loss, alpha = aten._ctc_loss(values, targets, inputs, lengths, blank, zero_infinity)
    return aten._ctc_loss_backward(
        grad.float(), values, targets, inputs, lengths, loss, alpha, blank, zero_infinity
    )


def cross_entropy(
    x: Any, target: Any, weight: Any, reduction: str, ignore: int, smoothing: float
) -> Any:
    """The loss in float32; the vendor's document says that the z-loss is not computed."""
    return torch.nn.functional.cross_entropy(
        x.float(),
        target.long(),
        weight,
        ignore_index=ignore,
        reduction=reduction,
        label_smoothing=smoothing,
    )


def cross_entropy_backward(grad: Any, log_prob: Any, *settings: Any) -> Any:
    """The logarithms of the probabilities stand for the input: softmax gives the same of both."""
    x = log_prob.float().detach().requires_grad_()
    with torch.enable_grad():
        loss = cross_entropy(x, *settings)
        return torch.autograd.grad(loss, x, grad.float().reshape(loss.shape))[0]


__all__ = [
    "REDUCTIONS",
    "ROUNDING",
    "along",
    "cross_entropy",
    "cross_entropy_backward",
    "ctc_loss",
    "ctc_loss_backward",
    "generator",
    "given",
    "histc",
    "kl_div_backward",
    "larger_or_smaller",
    "many",
    "max_pool2d_backward",
    "pair",
    "paired",
    "prelu_backward",
    "renorm",
    "rounded",
    "rrelu",
    "subtracted",
    "twice",
    "unscaled",
    "wider",
]
