# SPDX-License-Identifier: Apache-2.0
"""Probes of what differs from chip to chip."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from .acl import FLOAT, Acl, decode, encode
from .hccl_probes import FLOAT_TYPE, SUM, counts

JIT_COMPILE = 10
HCCL_TYPES = range(12)
KEEPS_INFINITIES, HAS_BFLOAT16 = 0, 1


def compiler() -> object:
    """Whether operators are compiled when they are called, and two attributes of CANN."""
    acl = Acl()
    acl.start()
    text = ctypes.create_string_buffer(16)
    acl.call("aclGetCompileopt", JIT_COMPILE, text, ctypes.c_size_t(16))
    found = [text.value.decode()]
    for attribute in (KEEPS_INFINITIES, HAS_BFLOAT16):
        value = ctypes.c_int32(-1)
        acl.call("aclGetCannAttribute", attribute, ctypes.byref(value))
        found.append(str(value.value))
    return found


def collectives(name: str, number: str, device: str) -> object:
    """The codes of collectives, and those of AllReduce with each type, of one of two ranks."""
    acl = Acl()
    acl.start()
    acl.call("aclrtSetDevice", int(device))
    comm = ctypes.c_void_p()
    joined = acl.code("HcclCommInitRootInfo", 2, name.encode(), int(number), ctypes.byref(comm))
    if joined:
        return joined
    send, out, one = acl.allocate(64), acl.allocate(64), ctypes.c_uint64(1)
    ones, places = counts(1, 1), counts(0, 1)
    last = (comm, None)
    calls: dict[str, tuple[object, ...]] = {
        "Broadcast": (send, one, FLOAT_TYPE, 0),
        "Reduce": (send, out, one, FLOAT_TYPE, SUM, 0),
        "Scatter": (send, out, one, FLOAT_TYPE, 0),
        "AllGather": (send, out, one, FLOAT_TYPE),
        "AllGatherV": (send, one, out, ones, places, FLOAT_TYPE),
        "ReduceScatter": (send, out, one, FLOAT_TYPE, SUM),
        "ReduceScatterV": (send, ones, places, out, one, FLOAT_TYPE, SUM),
    }
    codes = {each: acl.code(f"Hccl{each}", *given, *last) for each, given in calls.items()}
    reduced = [acl.code("HcclAllReduce", send, out, one, kind, SUM, *last) for kind in HCCL_TYPES]
    return [codes, reduced]


def older_product(type_: str, dtype: str, value: str) -> object:
    """A product of 1 x 1 matrices, the second transposed, in the form of the older interface."""
    acl = Acl()
    library = acl.library
    for name in ("aclopCreateAttr", "aclCreateTensorDesc", "aclCreateDataBuffer"):
        getattr(library, name).restype = ctypes.c_void_p
    acl.start()
    size = ctypes.c_size_t(8)
    shape = (ctypes.c_int64 * 2)(1, 1)
    described, buffers = [], []
    memory = [acl.upload(encode([float(value), 0], FLOAT)) for _ in range(3)]
    for each in memory:
        described.append(library.aclCreateTensorDesc(int(dtype), 2, shape, 2))
        buffers.append(library.aclCreateDataBuffer(each, size))
    pointers = (ctypes.c_void_p * 2)(*described[:2]), (ctypes.c_void_p * 2)(*buffers[:2])
    out = (ctypes.c_void_p * 1)(described[2]), (ctypes.c_void_p * 1)(buffers[2])
    attributes = ctypes.c_void_p(library.aclopCreateAttr())
    acl.call("aclopSetAttrBool", attributes, b"transpose_x2", 1)
    acl.call(
        *("aclopCompileAndExecute", type_.encode(), 2, *pointers, 1, *out, attributes),
        *(0, 0, None, None),
    )
    return decode(acl.download(memory[2], 4), FLOAT)[0]


def product(value: str) -> object:
    """What a number of float32 times one is."""
    acl = Acl()
    acl.start()
    return acl.matmul([[float(value)]], [[1.0]], FLOAT)[0]


PROBES: dict[str, Callable[..., object]] = {
    probe.__name__: probe for probe in (compiler, collectives, older_product, product)
}
