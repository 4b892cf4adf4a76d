# SPDX-License-Identifier: Apache-2.0
"""Probes of operators: any of them, on arguments that are given as JSON."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from math import prod
from typing import Any

from .acl import BFLOAT16, FLOAT, HALF, INT32, INT64, Acl, decode, encode, int64s

DTYPES = {"float": FLOAT, "half": HALF, "bfloat16": BFLOAT16, "int32": INT32, "int64": INT64}
NUMBERS = {
    "i": ctypes.c_int64,
    "d": ctypes.c_double,
    "f": ctypes.c_float,
    "b": ctypes.c_bool,
    "byte": ctypes.c_int8,
}


class Arguments:
    """The arguments of one call, and those of its tensors that are read back.

    An argument is null, or a list that begins with its kind: a data type, for a tensor of a shape
    with values; "out", for the same to be read back; "scalar"; "text"; "ints", several integers; or
    a kind of number.
    """

    def __init__(self, acl: Acl, arguments: list[Any]) -> None:
        self.acl = acl
        self.outputs: list[tuple[ctypes.c_void_p, int, int]] = []
        self.values = [self._value(argument) for argument in arguments]

    def _value(self, argument: Any) -> object:
        if argument is None:
            return None
        kind, *rest = argument
        if kind == "text":
            return ctypes.create_string_buffer(rest[0].encode())
        if kind in NUMBERS:
            return NUMBERS[kind](rest[0])
        if kind in {"scalar", "ints"}:
            return self._scalar(rest[0]) if kind == "scalar" else self._ints(rest[0])
        if kind == "out":
            return self._tensor(*rest, read_back=True)
        return self._tensor(kind, *rest, read_back=False)

    def _scalar(self, value: float) -> ctypes.c_void_p:
        number = ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int64(value)
        dtype = FLOAT if isinstance(value, float) else INT64
        return ctypes.c_void_p(self.acl.library.aclCreateScalar(ctypes.byref(number), dtype))

    def _ints(self, values: list[int]) -> ctypes.c_void_p:
        size = ctypes.c_uint64(len(values))
        return ctypes.c_void_p(self.acl.library.aclCreateIntArray(int64s(values), size))

    def _tensor(
        self, dtype: str, shape: list[int], values: list[float], *, read_back: bool
    ) -> ctypes.c_void_p:
        assert len(values) == prod(shape)
        memory = self.acl.upload(encode(values, DTYPES[dtype]))
        if read_back:
            self.outputs.append((memory, DTYPES[dtype], prod(shape)))
        return self.acl.view(memory, DTYPES[dtype], shape)

    def results(self) -> list[list[float]]:
        return [
            decode(self.acl.download(memory, len(encode([0] * count, dtype))), dtype)
            for memory, dtype, count in self.outputs
        ]


def compute(operator: str, arguments: str) -> object:
    acl = Acl()
    acl.start()
    parsed = Arguments(acl, json.loads(arguments))
    acl.operate(operator, *parsed.values)
    return parsed.results()


def compute_after_the_text_is_gone(operator: str, arguments: str) -> object:
    """Overwrites every text between the planning of a call and its execution."""
    acl = Acl()
    acl.start()
    parsed = Arguments(acl, json.loads(arguments))
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    tail = (ctypes.byref(size), ctypes.byref(executor))
    acl.call(f"{operator}GetWorkspaceSize", *parsed.values, *tail)
    for value in parsed.values:
        if isinstance(value, ctypes.Array):
            value.value = b"?" * (len(value) - 1)
    acl.call(operator, None, size, executor, None)
    return parsed.results()


def capture_and_replay() -> object:
    """Captures y = |x|, y += x, forgets the operators' arguments, and replays on other values."""
    acl = Acl()
    acl.start()
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    acl.call("aclrtCreateStream", ctypes.byref(stream))
    x, y = acl.upload(encode([-1.0, 2.0], FLOAT)), acl.upload(encode([7.0, 7.0], FLOAT))
    handles = [acl.view(memory, FLOAT, [2]) for memory in (x, y)]
    one = ctypes.c_float(1)
    alpha = ctypes.c_void_p(acl.library.aclCreateScalar(ctypes.byref(one), FLOAT))
    acl.call("aclmdlRICaptureBegin", stream, 0)
    acl.submit(stream, "aclnnAbs", *handles)
    acl.submit(stream, "aclnnInplaceAdd", handles[1], handles[0], alpha)
    synchronized = acl.code("aclrtSynchronizeStream", stream)
    acl.call("aclmdlRICaptureEnd", stream, ctypes.byref(graph))
    for handle in handles:
        acl.call("aclDestroyTensor", handle)
    acl.call("aclDestroyScalar", alpha)
    seen = [decode(acl.download(y, 8), FLOAT)]
    for values in ([-1.0, 2.0], [-3.0, 4.0]):
        size = ctypes.c_size_t(8)
        acl.call("aclrtMemcpy", x, size, encode(values, FLOAT), size, 1)
        acl.call("aclmdlRIExecuteAsync", graph, stream)
        seen.append(decode(acl.download(y, 8), FLOAT))
    acl.call("aclmdlRIDestroy", graph)
    after = acl.code("aclmdlRIExecuteAsync", graph, stream)
    return {"seen": seen, "synchronized": synchronized, "after": after}


def replay_an_updated_task_group() -> object:
    """Captures y = |x| as a task group, and replaces it by y = -x."""
    acl = Acl()
    acl.start()
    stream, graph, group = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    acl.call("aclrtCreateStream", ctypes.byref(stream))
    x, y = acl.upload(encode([-1.0], FLOAT)), acl.upload(encode([7.0], FLOAT))
    handles = [acl.view(memory, FLOAT, [1]) for memory in (x, y)]
    acl.call("aclmdlRICaptureBegin", stream, 0)
    acl.call("aclmdlRICaptureTaskGrpBegin", stream)
    acl.submit(stream, "aclnnAbs", *handles)
    acl.call("aclmdlRICaptureTaskGrpEnd", stream, ctypes.byref(group))
    acl.call("aclmdlRICaptureEnd", stream, ctypes.byref(graph))
    x_twice = [-1.0, -2.0]
    seen = []
    for value in x_twice:
        size = ctypes.c_size_t(4)
        acl.call("aclrtMemcpy", x, size, encode([value], FLOAT), size, 1)
        acl.call("aclmdlRIExecuteAsync", graph, stream)
        seen += decode(acl.download(y, 4), FLOAT)
        acl.call("aclmdlRICaptureTaskUpdateBegin", stream, group)
        acl.submit(stream, "aclnnCeil", *handles)
        acl.call("aclmdlRICaptureTaskUpdateEnd", stream)
    return seen


def another_stream_joins_a_capture() -> object:
    """A stream that waits for an event of a captured one is captured too, until the end."""
    acl = Acl()
    acl.start()
    streams = [ctypes.c_void_p(), ctypes.c_void_p()]
    event, graph = ctypes.c_void_p(), ctypes.c_void_p()
    for stream in streams:
        acl.call("aclrtCreateStream", ctypes.byref(stream))
    acl.call("aclrtCreateEvent", ctypes.byref(event))
    x, y = acl.upload(encode([-1.0], FLOAT)), acl.upload(encode([7.0], FLOAT))
    handles = [acl.view(memory, FLOAT, [1]) for memory in (x, y)]
    acl.call("aclmdlRICaptureBegin", streams[0], 0)
    acl.call("aclrtRecordEvent", event, streams[0])
    acl.call("aclrtStreamWaitEvent", streams[1], event)
    acl.submit(streams[1], "aclnnAbs", *handles)
    acl.call("aclmdlRICaptureEnd", streams[0], ctypes.byref(graph))
    seen = decode(acl.download(y, 4), FLOAT)
    # The old event no longer makes a stream part of the capture.
    acl.call("aclrtStreamWaitEvent", streams[1], event)
    acl.submit(streams[1], "aclnnCeil", *handles)
    seen += decode(acl.download(y, 4), FLOAT)
    acl.call("aclmdlRIExecuteAsync", graph, streams[0])
    return seen + decode(acl.download(y, 4), FLOAT)


def format_of(shape: str, dtype: str, layout: str) -> object:
    """The shape that a tensor of a shape would have in memory in another format."""
    acl = Acl()
    acl.start()
    extents = json.loads(shape)
    memory = acl.allocate(8 * prod(extents))
    dims, rank = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    found = ctypes.c_int()
    acl.call(
        "aclnnNpuFormatCastCalculateSizeAndFormat",
        acl.view(memory, DTYPES[dtype], extents),
        int(layout),
        DTYPES[dtype],
        ctypes.byref(dims),
        ctypes.byref(rank),
        ctypes.byref(found),
    )
    return [found.value, [dims[i] for i in range(rank.value)]]


PROBES: dict[str, Callable[..., object]] = {
    probe.__name__: probe
    for probe in (
        compute,
        compute_after_the_text_is_gone,
        capture_and_replay,
        replay_an_updated_task_group,
        another_stream_joins_a_capture,
        format_of,
    )
}
