# SPDX-License-Identifier: Apache-2.0
"""Operators of half precision and of the older interface, against numpy in float64."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .torch_probes import Client, described
from .torch_values import numbers
from .torch_values import softmax as softmax_of

HIDDEN = 3


def older(
    client: Client,
    name: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    attributes: Mapping[str, str] | None = None,
) -> list[Any]:
    """What an operator of the older interface gives, into arrays like `outputs`."""
    given_attributes = ctypes.c_void_p(client.acl.library.aclopCreateAttr())
    for key, value in (attributes or {}).items():
        client.acl.call("aclopSetAttrString", given_attributes, key.encode(), value.encode())
    given = [described(client, each, on_host=False) for each in inputs]
    found = [described(client, each, on_host=False) for each in outputs]
    handles = [
        (ctypes.c_void_p * len(each))(*(item[at].value for item in each))
        for each in (given, found)
        for at in (0, 1)
    ]
    client.acl.call(
        "aclopCompileAndExecute",
        ctypes.c_char_p(name.encode()),
        len(given),
        *handles[:2],
        len(found),
        *handles[2:],
        given_attributes,
        0,
        0,
        None,
        None,
    )
    return [
        np.frombuffer(client.acl.download(item[2], like.nbytes), like.dtype).reshape(like.shape)
        for item, like in zip(found, outputs, strict=True)
    ]


def recurrence(x: Any, w_ih: Any, w_hh: Any, b: Any, h: Any, c: Any) -> list[Any]:
    """The states and gates of an LSTM at every step: h, c, i, g, f, o."""
    rows = []
    for step in x:
        i, f, g, o = np.split(step @ w_ih + h @ w_hh + b, 4, 1)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        g = np.tanh(g)
        c = f * c + i * g
        h = o * np.tanh(c)
        rows.append((h, c, i, g, f, o))
    return [np.stack(part) for part in zip(*rows, strict=True)]


def slope(function: Callable[[], float], array: Any) -> Any:
    """The gradient of a number with respect to an array that the function reads."""
    found = np.zeros(array.shape)
    for at in np.ndindex(array.shape):
        start, values = array[at], []
        for step in (1e-5, -1e-5):
            array[at] = start + step
            values.append(function())
        array[at] = start
        found[at] = (values[0] - values[1]) / 2e-5
    return found


def lstm_gradients(client: Client, steps: int) -> float:
    """Of an LSTM with a bias, which the operator is not given; one step has no dimension for it."""
    shapes = ((steps, 2, 4), (4, 12), (HIDDEN, 12), (12,), (2, HIDDEN), (2, HIDDEN))
    wide = [numbers(*shape).astype("f8") for shape in shapes]
    h, c, *gates = recurrence(*wide)
    dy, dh, dc = numbers(*h.shape), numbers(2, HIDDEN), numbers(2, HIDDEN)

    def total() -> float:
        states, cells, *_ = recurrence(*wide)
        return float((states * dy).sum() + (states[-1] * dh).sum() + (cells[-1] * dc).sum())

    x, w_ih, w_hh, b, h0, c0 = wide
    first = x[0] if steps == 1 else x
    inputs = [first, w_ih, w_hh, h, h0, c0, h, c, dy, dh, dc, *gates, np.tanh(c)]
    order = [w_ih, w_hh, b, first, h0, c0]
    single = [np.ascontiguousarray(each, "f4") for each in inputs]
    found = older(client, "DynamicRNNV2Grad", single, [each.astype("f4") for each in order])
    expected = [slope(total, each) for each in (w_ih, w_hh, b, x, h0, c0)]
    return max(
        float(np.abs(a - e.reshape(a.shape)).max()) for a, e in zip(found, expected, strict=True)
    )


def gru_by_steps(client: Client, order: str) -> float:
    """A GRU of the older interface and its gradients, against numbers' differences."""
    shapes = ((3, 2, 4), (4, 9), (HIDDEN, 9), (9,), (9,), (2, HIDDEN))
    x, w_ih, w_hh, b_ih, b_hh, h0 = wide = [numbers(*shape).astype("f8") for shape in shapes]

    def states() -> list[Any]:
        rows, h = [], h0
        for step in x:
            gi, gh = (np.split(part, 3, 1) for part in (step @ w_ih + b_ih, h @ w_hh + b_hh))
            first, second = (1 / (1 + np.exp(-gi[at] - gh[at])) for at in (0, 1))
            r, z = (first, second) if order == "rzh" else (second, first)
            n = np.tanh(gi[2] + r * gh[2])
            h = (1 - z) * n + z * h
            rows.append((h, z, r, n, gh[2]))
        return [np.stack(part) for part in zip(*rows, strict=True)]

    h, *gates = states()
    dy, dh = numbers(*h.shape), numbers(2, HIDDEN)
    single = [each.astype("f4") for each in wide]
    attributes = {"gate_order": order}
    given = [*single[:5], np.zeros(0, "f4"), single[5]]
    saved = [each.astype("f4") for each in (h, h, *gates)]
    found = older(client, "DynamicGRUV2", given, saved, attributes)
    error = max(float(np.abs(a - b).max()) for a, b in zip(found, (h, h, *gates), strict=True))
    inputs = [*single[:3], saved[0], single[5], saved[1], dy, dh, *saved[2:]]
    outputs = [w_ih, w_hh, b_ih, b_hh, x, h0]
    results = older(
        client, "DynamicGRUV2Grad", inputs, [each.astype("f4") for each in outputs], attributes
    )

    def total() -> float:
        steps = states()[0]
        return float((steps * dy).sum() + (steps[-1] * dh).sum())

    for result, array in zip(results, outputs, strict=True):
        error = max(error, float(np.abs(result - slope(total, array)).max()))
    return error


def convolution_of_pairs(client: Client) -> float:
    """The same padding in front and behind, in a convolution that is large enough for torch."""
    x, weight = numbers(1, 2, 96, 96), numbers(2, 2, 1, 1)
    out = client.zeros([1, 2, 98, 98])
    one, pairs, none = client.ints([1, 1]), client.ints([1, 1, 1, 1]), client.ints([0, 0])
    arrays = client.put(x), client.put(weight)
    settings = (one, pairs, one, False, none, 1, out, ctypes.c_int8(0))
    client.call("Convolution", *arrays, None, *settings)
    expected = np.pad(
        np.einsum("nchw,oc->nohw", x, weight[:, :, 0, 0]), ((0, 0), (0, 0), (1, 1), (1, 1))
    )
    return float(np.abs(out.read() - expected).max())


def half_loss(client: Client) -> float:
    """A sum of 5,000 losses, which would stop growing at 2,048 in half precision."""
    x, target = np.full((5000, 2), -1, "f2"), np.zeros(5000, "i8")
    loss, total = client.zeros([], "f2"), client.zeros([], "f2")
    client.call("NLLLoss", client.put(x), client.put(target), None, 2, -100, loss, total)
    return float(abs(loss.read() - 5000))


def half_samples(client: Client) -> float:
    """The gradient of one pixel that 3,000 samples read."""
    image, grad = np.ones((1, 1, 1, 1), "f2"), np.ones((1, 1, 1, 3000), "f2")
    grid = np.zeros((1, 1, 3000, 2), "f2")
    grad_input, grad_grid = client.zeros(image.shape, "f2"), client.zeros(grid.shape, "f2")
    arrays = (client.put(grad), client.put(image), client.put(grid))
    both = (ctypes.c_bool * 2)(True, True)
    mask = ctypes.c_void_p(client.acl.library.aclCreateBoolArray(both, ctypes.c_uint64(2)))
    client.call("GridSampler2DBackward", *arrays, 0, 0, True, mask, grad_input, grad_grid)
    return float(abs(grad_input.read().item() - 3000))


def half_resize(client: Client) -> float:
    """The gradient of one pixel that was stretched to 3,000."""
    grad, out = np.ones((1, 1, 3000), "f2"), client.zeros([1, 1, 1], "f2")
    sizes = client.ints([3000]), client.ints([1, 1, 1])
    client.call("UpsampleLinear1dBackward", client.put(grad), *sizes, False, 0.0, out)
    return float(abs(out.read().item() - 3000))


def norms_of_zero(client: Client) -> float:
    """A norm of 0 counts what is not 0: two of the first row, one of the second."""
    x, out = np.array([[3, 4, 0], [0, 5, 0]], "f4"), client.zeros([2, 3])
    client.call("Renorm", client.put(x), client.scalar(0.0), 0, client.scalar(1.0), out)
    return float(np.abs(out.read() - [[1.5, 2, 0], [0, 5, 0]]).max())


def vocabulary_loss(client: Client) -> float:
    """The gradients of a loss over words 10 to 13 of a vocabulary, of which this card has no more.

    The second target is on another card.
    """
    x, weight, grad = numbers(3, 5), numbers(4, 5), numbers(3)
    target = np.array([11, 20, 13])
    top, total, predicted, loss = (client.zeros([3]) for _ in range(4))
    mask, place = client.zeros([1], "u1"), client.zeros([3], "i8")
    logits, softmax = client.zeros([3, 4]), client.zeros([3, 4])
    arrays = client.put(x), client.put(weight)
    words = (client.put(target), 10, 13)
    found = (top, total, predicted, mask, place, logits)
    client.call("FusedLinearOnlineMaxSum", *arrays, *words, *found)
    assert mask.read().tolist() == [0b01011111]
    assert place.read().tolist() == [1, 0, 3]
    sums = (top, total, predicted, 0.0)
    client.call("FusedCrossEntropyLossWithMaxSum", *sums, None, None, logits, loss, softmax)
    probable = softmax_of(x.astype("f8") @ weight.T)
    expected = -np.log(probable[[0, 2], [1, 3]])
    error = np.abs(loss.read()[[0, 2]] - expected).max()
    changes = probable.copy()
    changes[[0, 2], [1, 3]] -= 1
    changes *= grad[:, None]
    for sums_or_softmax in ((None, None, softmax), (top, total, None)):
        outs = client.zeros([3, 5]), client.zeros([4, 5])
        given = (client.put(grad), *arrays, mask, place, 0.0, *sums_or_softmax)
        client.call("FusedLinearCrossEntropyLossGrad", *given, *outs)
        for out, wanted in zip(outs, (changes @ weight, changes.T @ x), strict=True):
            error = max(error, np.abs(out.read() - wanted).max())
    return float(error)


def group_norm(client: Client) -> float:
    """Of so many numbers that torch computes it; half precision, with its gradients."""
    batch, channels, pixels, groups = 2, 4, 2048, 2
    x, grad = (numbers(batch, channels, pixels).astype("f2") for _ in range(2))
    gamma, beta = numbers(channels).astype("f2"), numbers(channels).astype("f2")
    sizes = (batch, channels, pixels, groups)
    out, mean, rstd = client.zeros(x.shape), client.zeros([2, 2]), client.zeros([2, 2])
    client.call("GroupNorm", *map(client.put, (x, gamma, beta)), *sizes, 0.0, out, mean, rstd)
    rows = x.astype("f8").reshape(batch, groups, -1)
    normed = (rows - rows.mean(-1, keepdims=True)) / rows.std(-1, keepdims=True)
    normed = normed.reshape(x.shape)
    error = np.abs(out.read() - (normed * gamma[:, None] + beta[:, None])).max()
    results = [client.zeros(shape) for shape in (x.shape, [channels], [channels])]
    flags = (ctypes.c_bool * 3)(True, True, True)
    mask = ctypes.c_void_p(client.acl.library.aclCreateBoolArray(flags, ctypes.c_uint64(3)))
    given = (client.put(grad), client.put(x), mean, rstd, client.put(gamma))
    client.call("GroupNormBackward", *given, *sizes, mask, *results)
    wanted = [(grad.astype("f8") * normed).sum((0, 2)), grad.astype("f8").sum((0, 2))]
    for result, sums in zip(results[1:], wanted, strict=True):
        error = max(error, np.abs(result.read() / sums - 1).max())
    return float(error)


def more_values() -> object:
    """The largest error of each."""
    client = Client()
    return {
        "gradients of one step": lstm_gradients(client, 1),
        "gradients of three steps": lstm_gradients(client, 3),
        "gates r, z, n": gru_by_steps(client, "rzh"),
        "gates z, r, n": gru_by_steps(client, "zrh"),
        "convolution": convolution_of_pairs(client),
        "loss": half_loss(client),
        "samples": half_samples(client),
        "resize": half_resize(client),
        "norms of zero": norms_of_zero(client),
        "vocabulary": vocabulary_loss(client),
        "groups": group_norm(client),
    }
