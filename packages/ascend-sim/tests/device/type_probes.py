# SPDX-License-Identifier: Apache-2.0
"""Probes of what an operator refuses, and of what a kernel meets while it runs."""

from __future__ import annotations

import ctypes
import json

from .acl import BOOL, FLOAT, INT64, Acl, CallError, decode, encode

SIZES = {**dict.fromkeys((2, 4, 12, 35, 36), 1), **dict.fromkeys((1, 6, 7, 27), 2)}
SIZES |= {**dict.fromkeys((0, 3, 8, 33), 4), **dict.fromkeys((9, 10, 11, 16), 8), 17: 16}
"""The bytes of an element by the number of its type."""


def refused_types(operators: str) -> object:
    """For each operator and each place of its tensors, the types that are refused there.

    ``operators`` is JSON: from the name to types that are accepted together, one for each tensor.
    """
    acl = Acl()
    acl.start()
    memory = acl.allocate(4096)
    views = {code: acl.view(memory, code, [2, 2]) for code in SIZES}
    found: dict[str, list[list[int]]] = {}
    for name, types in json.loads(operators).items():
        found[name] = [
            [
                code
                for code in SIZES
                if _refuses(acl, name, [*types[:at], code, *types[at + 1 :]], views)
            ]
            for at in range(len(types))
        ]
    return found


def _refuses(acl: Acl, name: str, types: list[int], views: dict[int, ctypes.c_void_p]) -> bool:
    """Whether the operator refuses one of the types, and not for another reason."""
    workspace, executor = ctypes.c_uint64(), ctypes.c_void_p()
    places = (ctypes.byref(workspace), ctypes.byref(executor))
    try:
        acl.call(f"aclnn{name}GetWorkspaceSize", *(views[code] for code in types), *places)
    except CallError as error:
        return "NPUSIM_LENIENT=1 lets it pass" in error.message
    acl.call("aclDestroyAclOpExecutor", executor)
    return False


def running_sum_of_booleans() -> object:
    """The running sum of 1, 0, 1 and 1."""
    acl = Acl()
    acl.start()
    booleans = acl.view(acl.upload(bytes([1, 0, 1, 1])), BOOL, [4])
    memory = acl.allocate(32)
    sums = acl.view(memory, INT64, [4])
    acl.operate("aclnnCumsum", booleans, ctypes.c_int64(0), INT64, sums)
    acl.call("aclrtSynchronizeDevice")
    return decode(acl.download(memory, 32), INT64)


def index_out_of_range() -> object:
    """The launch, both waits, a copy, what is launched after it, and all after a reset."""
    acl = Acl()
    acl.start()
    table = acl.view(acl.upload(encode([1, 2, 3, 4], FLOAT)), FLOAT, [2, 2])
    memory = acl.upload(encode([9] * 4, FLOAT))
    out = acl.view(memory, FLOAT, [2, 2])
    wrong, right = (
        acl.view(acl.upload(encode(places, INT64)), INT64, [2]) for places in ([0, 5], [1, 0])
    )
    acl.operate("aclnnEmbedding", table, wrong, out)
    codes = [acl.code("aclrtSynchronizeDevice"), acl.code("aclrtSynchronizeStream", None)]
    acl.operate("aclnnEmbedding", table, right, out)
    try:
        acl.download(memory, 16)
    except CallError as error:
        codes.append(error.code)
        said = error.message
    acl.call("aclrtResetDevice", 0)
    acl.call("aclrtSetDevice", 0)
    acl.operate("aclnnEmbedding", table, right, out)
    acl.call("aclrtSynchronizeDevice")
    return [codes, said]


def operands_on_two_devices() -> object:
    """What the wait for the device says."""
    acl = Acl()
    acl.start()
    here = acl.view(acl.upload(encode([1], FLOAT)), FLOAT, [1])
    acl.call("aclrtSetDevice", 1)
    there = acl.view(acl.upload(encode([1], FLOAT)), FLOAT, [1])
    acl.call("aclrtSetDevice", 0)
    acl.operate("aclnnMul", here, there, here)
    try:
        acl.call("aclrtSynchronizeDevice")
    except CallError as error:
        return [error.code, error.message]
    return "nothing"


def default_device(settings: str) -> object:
    """The device of a thread that sets none, with a file of settings for aclInit."""
    acl = Acl()
    acl.call("aclInit", settings.encode())
    device = ctypes.c_int32(99)
    acl.call("aclrtGetDevice", ctypes.byref(device))
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    acl.call("aclrtGetMemInfo", 1, ctypes.byref(free), ctypes.byref(total))
    return [device.value, total.value]


PROBES = {
    probe.__name__: probe
    for probe in (
        refused_types,
        running_sum_of_booleans,
        index_out_of_range,
        operands_on_two_devices,
        default_device,
    )
}
