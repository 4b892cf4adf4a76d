# SPDX-License-Identifier: Apache-2.0
"""Probes of operators that torch carries out: PYTHON -m tests.device.torch_probes NAME ARGUMENT...

They run with a Python that has torch and numpy; each prints its result as one line of JSON.
"""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .acl import Acl, CallError, int64s

HOST_MEMORY, UNDEFINED_TYPE = 2, -1
CODES = {"f4": 0, "f2": 1, "i1": 2, "i4": 3, "u1": 4, "i8": 9, "f8": 11, "b1": 12, "c8": 16}


@dataclass
class Memory:
    """An array on the device, and the handle of its view."""

    acl: Acl
    array: Any
    pointer: ctypes.c_void_p
    handle: ctypes.c_void_p

    def read(self) -> Any:
        data = self.acl.download(self.pointer, max(self.array.nbytes, 1))
        return np.frombuffer(data[: self.array.nbytes], self.array.dtype).reshape(self.array.shape)


class Client:
    """The device with numpy's arrays."""

    def __init__(self) -> None:
        self.acl = Acl()
        for name in ("TensorList", "FloatArray", "BoolArray", "ScalarList"):
            getattr(self.acl.library, f"aclCreate{name}").restype = ctypes.c_void_p
        for name in ("aclopCreateAttr", "aclCreateTensorDesc", "aclCreateDataBuffer"):
            getattr(self.acl.library, name).restype = ctypes.c_void_p
        self.acl.start()

    def put(self, array: Any, code: int | None = None) -> Memory:
        dense = np.ascontiguousarray(array).reshape(np.shape(array))
        dtype = CODES[dense.dtype.str[1:]] if code is None else code
        pointer = self.acl.upload(dense.tobytes() or b"\0")
        return Memory(self.acl, dense, pointer, self.acl.view(pointer, dtype, dense.shape))

    def zeros(self, shape: Sequence[int], dtype: str = "f4") -> Memory:
        return self.put(np.zeros(shape, dtype))

    def scalar(self, value: complex, dtype: str = "f4") -> ctypes.c_void_p:
        data = np.array([value], dtype).tobytes()
        return ctypes.c_void_p(self.acl.library.aclCreateScalar(data, CODES[dtype]))

    def ints(self, values: Sequence[int]) -> ctypes.c_void_p:
        size = ctypes.c_uint64(len(values))
        return ctypes.c_void_p(self.acl.library.aclCreateIntArray(int64s(values), size))

    def bools(self, values: Sequence[bool]) -> ctypes.c_void_p:
        items, size = (ctypes.c_bool * len(values))(*values), ctypes.c_uint64(len(values))
        return ctypes.c_void_p(self.acl.library.aclCreateBoolArray(items, size))

    def tensors(self, items: Sequence[Memory]) -> ctypes.c_void_p:
        handles = (ctypes.c_void_p * len(items))(*(item.handle.value for item in items))
        size = ctypes.c_uint64(len(items))
        return ctypes.c_void_p(self.acl.library.aclCreateTensorList(handles, size))

    def call(self, name: str, *arguments: object) -> None:
        wired = [item.handle if isinstance(item, Memory) else item for item in arguments]
        self.acl.operate(f"aclnn{name}", *map(typed, wired))


def typed(value: object) -> object:
    """A number as the C function takes it: bool, int64_t or double."""
    if isinstance(value, bool):
        return ctypes.c_bool(value)
    if isinstance(value, int):
        return ctypes.c_int64(value)
    if isinstance(value, float):
        return ctypes.c_double(value)
    return value


def failure(action: Callable[[], object]) -> object:
    try:
        action()
    except CallError as error:
        return {"code": error.code, "message": error.message}
    return None


def renormed(x: Any) -> Any:
    norms = np.sqrt((x.astype("f8") ** 2).sum(1, keepdims=True))
    return np.where(norms > 1, x / (norms + 1e-7), x)


def strides() -> object:
    """A transposed view with an offset, in and out."""
    client = Client()
    x = np.arange(14, dtype="f4").reshape(7, 2) - 5
    source, target = client.put(x), client.zeros([7, 2])
    views = [client.acl.view(m.pointer, 0, [2, 3], [1, 2], 4) for m in (source, target)]
    client.call("Renorm", views[0], client.scalar(2.0), 0, client.scalar(1.0), views[1])
    expected = np.zeros([7, 2])
    expected[2:5] = renormed(x[2:5].T).T
    return float(np.abs(target.read() - expected).max())


def steps() -> object:
    """Optimizers' steps and normalisation, which both the device and torch carry out."""
    client, random = Client(), np.random.default_rng(3)
    results: list[Memory] = []

    def some(*shape: int) -> Memory:
        return client.put(random.normal(size=shape).astype("f4"))

    def out(*shape: int) -> Memory:
        results.append(client.zeros(shape))
        return results[-1]

    factors = [ctypes.c_float(value) for value in (0.01, 0.9, 0.999, 0.1, 1e-8)]
    for decayed in (False, True):
        state = [some(7, 3), some(7, 3), client.put(random.random((7, 3)).astype("f4"))]
        top = client.put(random.random((7, 3)).astype("f4"))
        results += [*state, top]
        given = [*state, top if decayed else None, some(7, 3), client.put(np.float32(4))]
        client.call("ApplyAdamWV2", *given, *factors, decayed, decayed)
    lists = [client.tensors([some(4), some(2, 3)]) for _ in range(3)]
    calls: dict[str, tuple[object, ...]] = {
        "ForeachAddScalar": (lists[0], client.put(np.float32(1.5))),
        "ForeachMulScalarV2": (lists[0], client.scalar(1.5)),
        "ForeachSubListV2": (lists[0], lists[1], client.scalar(0.5)),
        "ForeachAddcdivScalar": (*lists, client.put(np.array([0.5, 2], "f4"))),
        "ForeachLerpScalar": (lists[0], lists[1], client.scalar(0.25)),
        "ForeachNeg": (lists[2],),
    }
    for name, operands in calls.items():
        client.call(name, *operands, client.tensors([out(4), out(2, 3)]))
    grad, x, weight, eps = some(5, 6), some(5, 6), some(6), 1e-5
    rstd = out(5, 1)
    client.call("RmsNorm", x, weight, eps, out(5, 6), rstd)
    client.call("RmsNormGrad", grad, x, rstd, weight, out(5, 6), out(6))
    mean, inverse, mask = out(5, 1), out(5, 1), client.bools([True, True, True])
    client.call("LayerNorm", x, client.ints([6]), weight, weight, eps, out(5, 6), mean, inverse)
    forward = [grad, x, client.ints([6]), mean, inverse, weight, weight]
    client.call("LayerNormBackward", *forward, mask, out(5, 6), out(6), out(6))
    return [result.read().ravel().tolist() for result in results]


def scalars_and_empty() -> object:
    """A tensor without dimensions, and one without elements."""
    client = Client()
    single, none = client.put(np.float32(0.5)), client.zeros([0, 3])
    out, empty = client.zeros([]), client.zeros([0, 3])
    client.call("Logit", single, -1.0, out)
    client.call("Logit", none, -1.0, empty)
    return float(out.read())


def types() -> object:
    """Complex numbers, halves that are computed in float, and 64-bit integers beyond double."""
    client = Client()
    a, b = np.array([1 + 2j, -3j], "c8"), np.array([2 - 1j, 1 + 1j], "c8")
    product = client.zeros([2], "c8")
    client.call("Mul", client.put(a), client.put(b), product)
    shifted = client.zeros([1], "i8")
    client.call("LeftShift", client.put(np.array([2**54 + 1])), client.put(np.array([1])), shifted)
    half = client.zeros([2], "f2")
    client.call("AngleV2", client.put(np.array([-1, 1], "f2")), half)
    inverse = client.zeros([1, 1], "f2")
    client.call("Inverse", client.put(np.array([[4]], "f2")), inverse)
    right = bool(np.allclose(product.read(), a * b))
    halves = [*half.read().tolist(), float(inverse.read()[0, 0])]
    return [right, int(shifted.read()[0]), halves]


def wrong_signature() -> object:
    """A scalar where a tensor belongs, a missing tensor, and an operator without its last input."""
    client = Client()
    x, out = client.put(np.ones(4, "f4")), client.zeros([4])
    one, single = client.scalar(1.0), client.put(np.float32(1))
    return [
        failure(lambda: client.call("Renorm", one, one, 0, one, out)),
        failure(lambda: client.call("Renorm", None, one, 0, one, out)),
        failure(lambda: client.call("Renorm", x, one, 0, one)),
        failure(lambda: client.call("Glu", single, 0, out)),
        failure(lambda: client.call("Glu", x, 0, out)),
    ]


def unreadable_text() -> object:
    """A text argument that is no address."""
    client = Client()
    x, out = client.put(np.ones([2, 4], "f4")), client.zeros([2, 2])
    address = ctypes.c_void_p(64)
    return failure(lambda: client.call("GeluMul", x, address, out))


def released_text() -> object:
    """A text that its owner changes between the plan and the call."""
    client = Client()
    x = np.linspace(-2, 2, 8, dtype="f4").reshape(2, 4)
    source, out = client.put(x), client.zeros([2, 2])
    text = ctypes.create_string_buffer(b"tanh")
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    client.acl.call(
        "aclnnGeluMulGetWorkspaceSize",
        source.handle,
        text,
        out.handle,
        ctypes.byref(size),
        ctypes.byref(executor),
    )
    text.value = b"none"
    client.acl.call("aclnnGeluMul", None, size, executor, None)
    a, b = x[:, :2].astype("f8"), x[:, 2:]
    gelu = a / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))
    return float(np.abs(out.read() - gelu * b).max())


def many_threads() -> object:
    """Operators from eight threads at once."""
    client = Client()
    x = np.random.default_rng(0).normal(size=(16, 16)).astype("f4")
    errors: list[float] = []

    def work() -> None:
        client.acl.call("aclrtSetDevice", 0)
        for _ in range(40):
            out = client.zeros([16, 16])
            norm = client.scalar(1.0)
            client.call("Renorm", client.put(x), client.scalar(2.0), 0, norm, out)
            errors.append(float(np.abs(out.read() - renormed(x)).max()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [len(errors), max(errors)]


def found_shape() -> object:
    """An output whose shape is known only afterwards."""
    client = Client()
    x = np.array([3, 3, 1, 1, 1, 3], "f4")
    out, empty = client.zeros([6]), client.zeros([0], "i8")
    client.call("UniqueConsecutive", client.put(x), False, False, 1000, out, empty, empty)
    dims, rank = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    client.acl.call("aclGetViewShape", out.handle, ctypes.byref(dims), ctypes.byref(rank))
    return [dims[: rank.value], out.read()[: dims[0]].tolist()]


def described(client: Client, values: Any, on_host: bool) -> tuple[ctypes.c_void_p, ...]:
    """The handles of a tensor for the older interface: its description and its memory."""
    library = client.acl.library
    shape = int64s(values.shape)
    handle = ctypes.c_void_p(library.aclCreateTensorDesc(CODES["f4"], values.ndim, shape, 2))
    client.acl.call("aclSetTensorPlaceMent", handle, HOST_MEMORY if on_host else 0)
    data = ctypes.c_void_p(values.ctypes.data) if on_host else client.put(values).pointer
    size = ctypes.c_size_t(values.nbytes)
    return handle, ctypes.c_void_p(library.aclCreateDataBuffer(data, size)), data


def absent(client: Client) -> tuple[ctypes.c_void_p, ...]:
    """The same of an input that is left out."""
    library = client.acl.library
    description = library.aclCreateTensorDesc(UNDEFINED_TYPE, 0, None, 2)
    buffer = library.aclCreateDataBuffer(None, ctypes.c_size_t(0))
    return ctypes.c_void_p(description), ctypes.c_void_p(buffer)


def host_inputs() -> object:
    """The first step of AdamW: torch_npu leaves its numbers in the host's memory."""
    client = Client()
    return max(first_step(client, [absent(client)]), first_step(client, []))


def first_step(client: Client, last: Sequence[tuple[ctypes.c_void_p, ...]]) -> float:
    """The error of a step of AdamW, whose last input may be absent or left out."""
    start, grad, zero = np.array([1.0, -2], "f4"), np.array([0.5, 3], "f4"), np.zeros(2, "f4")
    powers_rate_decay_betas_epsilon = (1.0, 1.0, 0.1, 0.01, 0.9, 0.999, 0.0)
    numbers = [np.array(each, "f4") for each in powers_rate_decay_betas_epsilon]
    tensors = [described(client, each, on_host=False) for each in (start, zero, zero)]
    tensors += [described(client, each, on_host=True) for each in numbers]
    tensors += [described(client, grad, on_host=False), *last]
    count = len(tensors)
    handles = [(ctypes.c_void_p * count)(*(each[at].value for each in tensors)) for at in (0, 1)]
    outputs = [(ctypes.c_void_p * 3)(*each[:3]) for each in handles]
    attributes = ctypes.c_void_p(client.acl.library.aclopCreateAttr())
    name = ctypes.c_char_p(b"ApplyAdamW")
    client.acl.call(
        "aclopCompileAndExecute", name, count, *handles, 3, *outputs, attributes, 0, 0, None, None
    )
    found = [np.frombuffer(client.acl.download(each[2], 8), "f4") for each in tensors[:3]]
    expected = [start * (1 - 0.1 * 0.01) - 0.1 * np.sign(grad), 0.1 * grad, 0.001 * grad**2]
    return max(float(np.abs(x - y).max()) for x, y in zip(found, expected, strict=True))


def main() -> None:
    from . import more_values, quantised_values, torch_values, worker_probes

    probes: Sequence[Callable[[], object]] = (
        strides,
        scalars_and_empty,
        types,
        wrong_signature,
        unreadable_text,
        released_text,
        many_threads,
        found_shape,
        host_inputs,
        more_values.more_values,
        quantised_values.products,
        quantised_values.refusals,
        steps,
        torch_values.values,
        worker_probes.alone,
        worker_probes.ended,
        worker_probes.other_memory,
    )
    name = sys.argv[1]
    print(json.dumps({probe.__name__: probe for probe in probes}[name]()))


if __name__ == "__main__":
    main()
