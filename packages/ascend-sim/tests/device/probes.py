# SPDX-License-Identifier: Apache-2.0
"""What a test does inside a process of its own: python -m tests.device.probes NAME ARGUMENT...

Each probe prints its result as one line of JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable

from . import (
    bad_calls,
    channel_probes,
    chip_probes,
    hccl_probes,
    operator_probes,
    runtime_probes,
    type_probes,
    wait_probes,
)
from .acl import (
    BFLOAT16,
    FLOAT,
    HALF,
    HIGH_BANDWIDTH_MEMORY,
    INT32,
    INT64,
    Acl,
    CallError,
    decode,
    encode,
)

DTYPES = {"float": FLOAT, "half": HALF, "bfloat16": BFLOAT16, "int32": INT32, "int64": INT64}


def devices() -> object:
    acl = Acl()
    acl.library.aclrtGetSocName.restype = ctypes.c_char_p
    name = acl.library.aclrtGetSocName()
    return {
        "init": acl.code("aclInit", None),
        "count": acl.device_count(),
        "soc": name.decode() if name else None,
        "set": acl.code("aclrtSetDevice", 0),
    }


def devices_in_two_processes() -> object:
    """Asks before and after a fork, as a data loader's workers do."""
    found = devices()
    if os.fork() == 0:
        devices()
        os._exit(0)
    os.wait()
    return found


def refused() -> object:
    """Codes, and the last message, of a device that cannot be used."""
    acl = Acl()
    acl.library.aclrtGetSocName.restype = ctypes.c_char_p
    count = ctypes.c_uint32(99)
    code = acl.code("aclrtGetDeviceCount", ctypes.byref(count))
    set_code = acl.code("aclrtSetDevice", 0)
    message = acl.library.aclGetRecentErrMsg() or b""
    return {
        "count": [code, count.value],
        "soc": acl.library.aclrtGetSocName(),
        "set": set_code,
        "message": message.decode(),
    }


def operator_without_device() -> object:
    """Adds numbers that lie in the host's memory, and never sets a device."""
    acl = Acl()
    memory = ctypes.cast(ctypes.create_string_buffer(encode([1.0], FLOAT)), ctypes.c_void_p)
    view = acl.view(memory, FLOAT, [1])
    acl.operate("aclnnAbs", view, view)
    return "computed"


def torch_operator() -> object:
    """An operator that needs PyTorch, which this process does not have."""
    acl = Acl()
    acl.start()
    view = acl.view(acl.upload(encode([1.0], FLOAT)), FLOAT, [1])
    acl.operate("aclnnHardswishBackwardV2", view, view, view)
    return "computed"


def join_alone() -> object:
    comm = ctypes.c_void_p()
    return Acl().code("HcclCommInitRootInfo", 1, b"npusim_alone", 0, ctypes.byref(comm))


def copy_round_trip(text: str) -> object:
    acl = Acl()
    acl.start()
    return acl.download(acl.upload(text.encode()), len(text.encode())).decode()


def copy_beyond_the_end() -> object:
    acl = Acl()
    acl.start()
    size = ctypes.c_size_t(8)
    return acl.code("aclrtMemcpy", acl.allocate(4), ctypes.c_size_t(4), b"12345678", size, 1)


def free_twice() -> object:
    acl = Acl()
    acl.start()
    memory = acl.allocate(16)
    return [acl.code("aclrtFree", memory), acl.code("aclrtFree", memory)]


def free_memory_after_allocating(size: str) -> object:
    acl = Acl()
    acl.start()
    acl.allocate(int(size))
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    acl.call("aclrtGetMemInfo", HIGH_BANDWIDTH_MEMORY, ctypes.byref(free), ctypes.byref(total))
    return [free.value, total.value]


def matmul(dtype: str) -> object:
    acl = Acl()
    acl.start()
    return acl.matmul([[1, 2, 3], [4, 5, 6]], [[1, 0], [2, -1], [0, 3]], DTYPES[dtype])


def matmul_of_views() -> object:
    """Multiplies the transpose of one matrix by the right half of another."""
    acl = Acl()
    acl.start()
    left = acl.upload(encode([1, 4, 2, 5, 3, 6], FLOAT))
    right = acl.upload(encode([9, 9, 1, 0, 9, 9, 2, -1, 9, 9, 0, 3], FLOAT))
    out = acl.upload(encode([7] * 8, FLOAT))
    acl.operate(
        "aclnnMatmul",
        acl.view(left, FLOAT, [2, 3], [1, 2]),
        acl.view(right, FLOAT, [3, 2], [4, 1], offset=2),
        acl.view(out, FLOAT, [2, 2], [4, 2]),
        ctypes.c_int8(0),
    )
    return decode(acl.download(out, 32), FLOAT)


def add_integers(a: str, b: str) -> object:
    acl = Acl()
    acl.start()
    left, right = (acl.upload(encode([int(x)], INT64)) for x in (a, b))
    one = ctypes.c_int64(1)
    alpha = ctypes.c_void_p(acl.library.aclCreateScalar(ctypes.byref(one), INT64))
    out = acl.allocate(8)
    views = [acl.view(memory, INT64, [1]) for memory in (left, right, out)]
    acl.operate("aclnnAdd", views[0], views[1], alpha, views[2])
    return decode(acl.download(out, 8), INT64)[0]


def wrong_handles() -> object:
    """The codes for a scalar, a number, a destroyed tensor and null where a tensor belongs."""
    acl = Acl()
    acl.start()
    memory = acl.upload(encode([1.0], FLOAT))
    value = ctypes.c_double(1)
    tensor, gone = acl.view(memory, FLOAT, [1]), acl.view(memory, FLOAT, [1])
    acl.call("aclDestroyTensor", gone)
    wrong = [
        ctypes.c_void_p(acl.library.aclCreateScalar(ctypes.byref(value), 11)),
        ctypes.c_void_p(12345),
        gone,
        None,
    ]
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    tail = (ctypes.byref(size), ctypes.byref(executor))
    codes = [acl.code("aclnnAbsGetWorkspaceSize", handle, tensor, *tail) for handle in wrong]
    return [*codes, acl.code("aclnnAbs", None, size, ctypes.c_void_p(1), None)]


def stub_twice() -> object:
    acl = Acl()
    return [acl.code("rtLaunch"), acl.code("rtLaunch")]


PROBES: dict[str, Callable[..., object]] = (
    {
        probe.__name__: probe
        for probe in (
            devices,
            devices_in_two_processes,
            refused,
            operator_without_device,
            torch_operator,
            join_alone,
            copy_round_trip,
            copy_beyond_the_end,
            free_twice,
            free_memory_after_allocating,
            matmul,
            matmul_of_views,
            add_integers,
            wrong_handles,
            stub_twice,
        )
    }
    | bad_calls.PROBES
    | channel_probes.PROBES
    | chip_probes.PROBES
    | hccl_probes.PROBES
    | operator_probes.PROBES
    | runtime_probes.PROBES
    | type_probes.PROBES
    | wait_probes.PROBES
)


def main() -> None:
    try:
        result = PROBES[sys.argv[1]](*sys.argv[2:])
    except CallError as error:
        result = {"code": error.code, "message": error.message}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
