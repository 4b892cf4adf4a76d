# SPDX-License-Identifier: Apache-2.0
"""Operators that torch carries out, against formulas written with numpy in float64."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from .torch_probes import Client, Memory, typed

RANDOM = np.random.default_rng(7)
Case = Callable[[Client], tuple[Memory, Any]]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def numbers(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype("f4")


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def turned(x: Any) -> Any:
    half = x.shape[-1] // 2
    return np.concatenate((-x[..., half:], x[..., :half]), -1)


@case
def glu(client: Client) -> tuple[Memory, Any]:
    x, out = numbers(3, 8), client.zeros([3, 4])
    client.call("Glu", client.put(x), -1, out)
    wide = x.astype("f8")
    return out, wide[:, :4] / (1 + np.exp(-wide[:, 4:]))


@case
def swiglu(client: Client) -> tuple[Memory, Any]:
    x, out = numbers(3, 8), client.zeros([3, 4])
    client.call("SwiGlu", client.put(x), -1, out)
    return out, silu(x[:, :4].astype("f8")) * x[:, 4:]


@case
def swiglu_gradient(client: Client) -> tuple[Memory, Any]:
    x, grad, out = numbers(3, 8), numbers(3, 4), client.zeros([3, 8])
    client.call("SwiGluGrad", client.put(grad), client.put(x), -1, out)
    a, b = x[:, :4].astype("f8"), x[:, 4:]
    gate = 1 / (1 + np.exp(-a))
    slope = gate * (1 + a * (1 - gate))
    return out, np.concatenate((grad * b * slope, grad * a * gate), -1)


@case
def add_rms_norm(client: Client) -> tuple[Memory, Any]:
    a, b, gamma = numbers(3, 8), numbers(3, 8), numbers(8)
    y, rstd, x = client.zeros([3, 8]), client.zeros([3, 1]), client.zeros([3, 8])
    client.call("AddRmsNorm", client.put(a), client.put(b), client.put(gamma), 1e-6, y, rstd, x)
    total = a.astype("f8") + b
    root = np.sqrt((total**2).mean(-1, keepdims=True) + 1e-6)
    assert np.allclose(rstd.read(), 1 / root, atol=1e-5)
    return y, total / root * gamma


@case
def rotary_half(client: Client) -> tuple[Memory, Any]:
    x, cos, sin, out = numbers(1, 2, 3, 8), numbers(1, 1, 3, 8), numbers(1, 1, 3, 8), None
    out = client.zeros(x.shape)
    client.call("RotaryPositionEmbedding", *map(client.put, (x, cos, sin)), 0, out)
    return out, x.astype("f8") * cos + turned(x) * sin


@case
def rotary_interleaved(client: Client) -> tuple[Memory, Any]:
    x, cos, sin = numbers(1, 2, 3, 8), numbers(1, 1, 3, 8), numbers(1, 1, 3, 8)
    out = client.zeros(x.shape)
    client.call("RotaryPositionEmbedding", *map(client.put, (x, cos, sin)), 1, out)
    pairs = np.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(x.shape)
    return out, x.astype("f8") * cos + pairs * sin


@case
def prompt_attention(client: Client) -> tuple[Memory, Any]:
    q, k, v = numbers(2, 3, 4, 8), numbers(2, 3, 5, 8), numbers(2, 3, 5, 8)
    out = client.zeros(q.shape)
    absent = [None] * 9
    client.call(
        "PromptFlashAttentionV3",
        *map(client.put, (q, k, v)),
        *absent,
        3,
        8**-0.5,
        2147483647,
        2147483647,
        ctypes.c_char_p(b"BNSD"),
        0,
        0,
        0,
        out,
    )
    scores = q.astype("f8") @ k.swapaxes(-1, -2) * 8**-0.5
    return out, softmax(scores) @ v


@case
def gating(client: Client) -> tuple[Memory, Any]:
    x = numbers(5, 8)
    y, expert, row = (client.zeros([5, 2], dtype) for dtype in ("f4", "i4", "i4"))
    client.call("MoeGatingTopKSoftmax", client.put(x), None, 2, y, expert, row)
    assert row.read().tolist() == np.arange(10).reshape(2, 5).T.tolist()
    assert expert.read().tolist() == np.argsort(-x, -1)[:, :2].tolist()
    return y, -np.sort(-softmax(x.astype("f8")), -1)[:, :2]


@case
def routing(client: Client) -> tuple[Memory, Any]:
    x, expert = numbers(4, 3), np.array([[1, 0], [2, 1], [0, 2], [1, 2]], "i4")
    row = np.arange(8, dtype="i4").reshape(2, 4).T.copy()
    expanded = client.zeros([8, 3])
    place, experts = client.zeros([8], "i4"), client.zeros([8], "i4")
    client.call("MoeInitRouting", *map(client.put, (x, row, expert)), 4, expanded, place, experts)
    order = np.argsort(expert.reshape(-1), kind="stable")
    assert experts.read().tolist() == np.sort(expert.reshape(-1)).tolist()
    return expanded, x[row.reshape(-1)[order] % 4]


@case
def grouped_products(client: Client) -> tuple[Memory, Any]:
    x, weight, out = numbers(5, 3), numbers(2, 3, 4), client.zeros([5, 4])
    groups = client.put(np.array([2, 5]))
    lists = [client.tensors([client.put(item)]) for item in (x, weight)]
    outs = client.tensors([out])
    absent: list[object] = [None] * 6
    client.call(
        "GroupedMatmulV4", *lists, *absent, groups, None, None, None, 3, 0, 0, 0, outs, None, None
    )
    wide = x.astype("f8")
    return out, np.concatenate((wide[:2] @ weight[0], wide[2:] @ weight[1]))


@case
def quantised_product(client: Client) -> tuple[Memory, Any]:
    a = RANDOM.integers(-9, 9, (3, 4)).astype("i1")
    b, scale = RANDOM.integers(-9, 9, (4, 5)).astype("i1"), numbers(5)
    out = client.zeros([3, 5])
    client.call(
        "QuantMatmulV4", *map(client.put, (a, b, scale)), None, None, None, False, False, out
    )
    return out, (a.astype("f8") @ b) * scale


@case
def dynamic_quantisation(client: Client) -> tuple[Memory, Any]:
    x, y, scale = numbers(3, 8), client.zeros([3, 8], "i1"), client.zeros([3])
    client.call("DynamicQuant", client.put(x), None, y, scale)
    factor = np.abs(x).max(-1) / 127
    assert np.allclose(scale.read(), factor)
    return y, np.round(x / factor[:, None])


@case
def interpolation(client: Client) -> tuple[Memory, Any]:
    x, out = numbers(1, 2, 4), client.zeros([1, 2, 7])
    client.call("UpsampleLinear1d", client.put(x), client.ints([7]), True, 0.0, out)
    places = np.linspace(0, 3, 7)
    return out, np.stack([np.interp(places, range(4), row) for row in x[0]])[None]


@case
def max_pooling(client: Client) -> tuple[Memory, Any]:
    x = numbers(1, 2, 4, 6)
    out, mask = client.zeros([1, 2, 2, 3]), client.zeros([1, 2, 4, 64], "i1")
    two, none, one = client.ints([2, 2]), client.ints([0, 0]), client.ints([1, 1])
    client.call("MaxPool2dWithMask", client.put(x), two, two, none, one, False, out, mask)
    return out, x.reshape(1, 2, 2, 2, 3, 2).max((3, 5))


@case
def lstm_cell(client: Client) -> tuple[Memory, Any]:
    a, b, c = numbers(2, 12), numbers(2, 12), numbers(2, 3)
    hy, cy, storage = client.zeros([2, 3]), client.zeros([2, 3]), client.zeros([2, 12])
    client.call("ThnnFusedLstmCell", *map(client.put, (a, b, c)), None, None, hy, cy, storage)
    i, f, g, o = np.split(a.astype("f8") + b, 4, 1)
    logistic = [1 / (1 + np.exp(-x)) for x in (i, f, o)]
    state = logistic[1] * c + logistic[0] * np.tanh(g)
    return hy, logistic[2] * np.tanh(state)


@case
def short_time_fourier_transform(client: Client) -> tuple[Memory, Any]:
    """Frames of 8 numbers, each 3 after the one before; the second half follows from the first."""
    x, window, out = numbers(2, 20), numbers(8), client.zeros([2, 5, 5, 2])
    settings = (8, 3, 8, False, True, False)
    handles = [client.put(item).handle for item in (x, window)]
    client.acl.operate("aclStft", *handles, out.handle, *map(typed, settings))
    frames = np.stack([x[:, at : at + 8] for at in range(0, 13, 3)], -1).astype("f8")
    found = np.fft.rfft(frames * window[:, None], axis=1)
    return out, np.stack((found.real, found.imag), -1)


def cross_entropy_arguments(*first: Memory) -> list[object]:
    """The arguments before the outputs: the target is ignored where it is -100."""
    return [*first, None, ctypes.c_char_p(b"mean"), -100, 0.1, 0.0]


@case
def cross_entropy(client: Client) -> tuple[Memory, Any]:
    x, target = numbers(4, 5), np.array([1, -100, 4, 0])
    loss, log_prob, z, log_sum = (client.zeros(shape) for shape in ([1], [4, 5], [1], [4]))
    arguments = cross_entropy_arguments(client.put(x), client.put(target))
    client.call("CrossEntropyLoss", *arguments, False, loss, log_prob, z, log_sum)
    expected = np.log(softmax(x.astype("f8")))
    assert np.allclose(log_prob.read(), expected, atol=1e-5)
    kept = [0, 2, 3]
    right = -expected[kept, target[kept]].mean()
    return loss, 0.9 * right - 0.1 * expected[kept].mean()


@case
def cross_entropy_gradient(client: Client) -> tuple[Memory, Any]:
    x, target, out = numbers(4, 5), np.array([1, -100, 4, 0]), client.zeros([4, 5])
    found = softmax(x.astype("f8"))
    given = (np.array([3.0], "f4"), np.log(found).astype("f4"), target)
    grad, log_prob, targets = map(client.put, given)
    arguments = cross_entropy_arguments(grad, log_prob, targets)
    client.call("CrossEntropyLossGrad", *arguments[:4], None, None, *arguments[4:], out)
    wanted = 0.9 * np.eye(5)[np.maximum(target, 0)] + 0.1 / 5
    targets_that_count = target[:, None] >= 0
    return out, (found - wanted) * targets_that_count * 3 / targets_that_count.sum()


@case
def large_product(client: Client) -> tuple[Memory, Any]:
    a, b, out = numbers(200, 150), numbers(150, 180), client.zeros([200, 180])
    client.call("Matmul", client.put(a), client.put(b), out, ctypes.c_int8(0))
    return out, a.astype("f8") @ b


@case
def complex_sum(client: Client) -> tuple[Memory, Any]:
    a = (numbers(4) + 1j * numbers(4)).astype("c8")
    out = client.zeros([4], "c8")
    client.call("Add", client.put(a), client.put(a), client.scalar(2j, "c8"), out)
    return out, a * (1 + 2j)


def values() -> object:
    """The largest error of each case."""
    client = Client()
    errors = {}
    for name, run in CASES.items():
        out, expected = run(client)
        errors[name] = float(np.abs(out.read() - expected).max())
    return errors
