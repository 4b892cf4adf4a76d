# SPDX-License-Identifier: Apache-2.0
"""A small client of the CANN interface, for the probes that run in processes of their own."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence
from math import prod

FLOAT, HALF, INT32, INT64, BOOL, BFLOAT16 = 0, 1, 3, 9, 12, 27
HIGH_BANDWIDTH_MEMORY = 1
TO_DEVICE, FROM_DEVICE = 1, 2
FORMATS = {FLOAT: "f", HALF: "e", INT32: "i", INT64: "q", BFLOAT16: "H"}

Number = int | float


def encode(values: Sequence[Number], dtype: int) -> bytes:
    if dtype == BFLOAT16:
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)


def decode(data: bytes, dtype: int) -> list[Number]:
    if dtype == BFLOAT16:
        halves = [data[i : i + 2] for i in range(0, len(data), 2)]
        return [struct.unpack("<f", b"\0\0" + half)[0] for half in halves]
    return list(
        struct.unpack(f"<{len(data) // struct.calcsize(FORMATS[dtype])}{FORMATS[dtype]}", data)
    )


def int64s(values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(values))(*values)


class CallError(Exception):
    """A call that returned an error."""

    def __init__(self, name: str, code: int, message: str) -> None:
        super().__init__(f"{name}: {code}: {message}")
        self.code = code
        self.message = message


class Acl:
    """The library, with device 0 set when there is one."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ["NPUSIM_LIBRARY"])
        self.library.aclGetRecentErrMsg.restype = ctypes.c_char_p
        for name in ("aclCreateTensor", "aclCreateScalar", "aclCreateIntArray"):
            getattr(self.library, name).restype = ctypes.c_void_p

    def code(self, name: str, *arguments: object) -> int:
        return int(getattr(self.library, name)(*arguments))

    def call(self, name: str, *arguments: object) -> None:
        code = self.code(name, *arguments)
        if code:
            message = self.library.aclGetRecentErrMsg() or b""
            raise CallError(name, code, message.decode())

    def device_count(self) -> int:
        count = ctypes.c_uint32(99)
        self.call("aclrtGetDeviceCount", ctypes.byref(count))
        return count.value

    def start(self) -> None:
        self.call("aclInit", None)
        self.call("aclrtSetDevice", 0)

    def allocate(self, size: int) -> ctypes.c_void_p:
        memory = ctypes.c_void_p()
        self.call("aclrtMalloc", ctypes.byref(memory), ctypes.c_size_t(size), 0)
        return memory

    def upload(self, data: bytes) -> ctypes.c_void_p:
        memory = self.allocate(len(data))
        size = ctypes.c_size_t(len(data))
        self.call("aclrtMemcpy", memory, size, data, size, TO_DEVICE)
        return memory

    def download(self, memory: ctypes.c_void_p, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        length = ctypes.c_size_t(size)
        self.call("aclrtMemcpy", data, length, memory, length, FROM_DEVICE)
        return data.raw

    def view(
        self,
        memory: ctypes.c_void_p,
        dtype: int,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        offset: int = 0,
    ) -> ctypes.c_void_p:
        steps = strides or [prod(shape[i + 1 :]) for i in range(len(shape))]
        rank = ctypes.c_uint64(len(shape))
        handle = self.library.aclCreateTensor(
            int64s(shape),
            rank,
            dtype,
            int64s(steps),
            ctypes.c_int64(offset),
            2,
            int64s(shape),
            rank,
            memory,
        )
        return ctypes.c_void_p(handle)

    def operate(self, name: str, *arguments: object) -> None:
        self.submit(None, name, *arguments)

    def submit(self, stream: ctypes.c_void_p | None, name: str, *arguments: object) -> None:
        workspace, executor = ctypes.c_uint64(), ctypes.c_void_p()
        self.call(
            f"{name}GetWorkspaceSize",
            *arguments,
            ctypes.byref(workspace),
            ctypes.byref(executor),
        )
        self.call(name, None, workspace, executor, stream)

    def matmul(self, a: list[list[Number]], b: list[list[Number]], dtype: int) -> list[Number]:
        rows, inner, columns = len(a), len(b), len(b[0])
        left = self.upload(encode([x for row in a for x in row], dtype))
        right = self.upload(encode([x for row in b for x in row], dtype))
        size = len(encode([0] * (rows * columns), dtype))
        out = self.allocate(size)
        self.operate(
            "aclnnMatmul",
            self.view(left, dtype, [rows, inner]),
            self.view(right, dtype, [inner, columns]),
            self.view(out, dtype, [rows, columns]),
            ctypes.c_int8(0),
        )
        return decode(self.download(out, size), dtype)
