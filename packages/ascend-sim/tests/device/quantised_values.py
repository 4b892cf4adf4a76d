# SPDX-License-Identifier: Apache-2.0
"""Products of quantised matrices in the layouts of torch_npu, and arguments that CANN refuses."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .acl import FLOAT, HALF, INT32, INT64
from .torch_probes import Client, Memory, failure

RANDOM = np.random.default_rng(11)


def packed(values: Any) -> Any:
    """Integers from -8 to 7, eight in an int32 along the last dimension."""
    eights = (values.astype("i8") & 15).reshape(*values.shape[:-1], -1, 8)
    return (eights << (np.arange(8) * 4)).sum(-1).astype("u4").view("i4")


def error_of(out: Memory, expected: Any) -> float:
    return float(np.abs(out.read() - expected).max())


def four_bits(client: Client, rows: int, transposed: bool) -> float:
    """The error of a product over `rows`; torch_npu passes the transpose of a matrix as a view."""
    a, b = RANDOM.integers(-8, 8, (3, rows)), RANDOM.integers(-8, 8, (rows, 16))
    scale, out = RANDOM.normal(size=16).astype("f4"), client.zeros([3, 16])
    if transposed:
        memory = client.put(packed(b.T)).pointer
        right = client.acl.view(memory, INT32, [rows // 8, 16], [1, rows // 8])
    else:
        right = client.put(packed(b)).handle
    absent = [None] * 6
    given = (client.put(packed(a)), right, None, client.put(scale), *absent[:5])
    client.call("QuantMatmulV5", *given, False, False, 0, out)
    return error_of(out, (a @ b) * scale)


def half_weight(client: Client) -> float:
    """A weight times its scale is rounded to half precision before the product, as on the NPU."""
    x = RANDOM.normal(size=(2, 4)).astype("f2")
    weight = RANDOM.integers(-99, 99, (4, 3)).astype("i1")
    scale, offset = (RANDOM.normal(size=3).astype("f2") for _ in range(2))
    halves = [client.put(each) for each in (x, weight, scale, offset)]
    out = client.zeros([2, 3])
    client.call("WeightQuantBatchMatmulV2", *halves, None, None, None, ctypes.c_int(0), out)
    expected = x.astype("f8") @ ((weight.astype("f2") + offset) * scale).astype("f8")
    return error_of(out, expected)


def products() -> object:
    """The largest error of each."""
    client = Client()
    return {
        "4 bits": four_bits(client, 16, transposed=False),
        "4 bits, transposed": four_bits(client, 16, transposed=True),
        "4 bits, one row": four_bits(client, 8, transposed=True),
        "half weight": half_weight(client),
    }


def empty_filter(client: Client, dtype: int) -> object:
    """A transposed convolution whose filter has no rows, and thus no pixels in its output."""
    x, weight, out = (client.acl.allocate(8) for _ in range(3))
    ones, none = client.ints([1, 1]), client.ints([0, 0])
    view = client.acl.view
    filter_of = view(weight, dtype, [1, 1, 0, 1])
    given = (view(x, dtype, [1, 1, 1, 1]), filter_of, None, ones, none, ones)
    target = view(out, dtype, [1, 1, 0, 1])
    return failure(lambda: client.call("Convolution", *given, True, none, 1, target, 0))


def real_difference_of_integers(client: Client) -> object:
    """int64 minus float32 into int64; it is refused when it is planned."""
    memory, one = client.acl.allocate(8), client.scalar(1.0)
    integers, reals = (client.acl.view(memory, each, [1]) for each in (INT64, FLOAT))
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    places = (ctypes.byref(size), ctypes.byref(executor))
    name = "aclnnInplaceSubGetWorkspaceSize"
    return failure(lambda: client.acl.call(name, integers, reals, one, *places))


def refusals() -> object:
    client = Client()
    return [
        empty_filter(client, FLOAT),
        empty_filter(client, HALF),
        real_difference_of_integers(client),
    ]
