# SPDX-License-Identifier: Apache-2.0
"""Calls with wrong arguments: each returns the code that it ended with, and crashed once."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from collections.abc import Callable

from .acl import FLOAT, INT64, TO_DEVICE, Acl, encode, int64s

PAGE = mmap.PAGESIZE
SMALLEST = -(1 << 63)


def size(number: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(number)


def plan(acl: Acl, name: str, *arguments: object) -> int:
    """The code of an operator: of its plan, or of its execution."""
    workspace, executor = ctypes.c_uint64(), ctypes.c_void_p()
    places = (ctypes.byref(workspace), ctypes.byref(executor))
    code = acl.code(f"{name}GetWorkspaceSize", *arguments, *places)
    return code or acl.code(name, None, workspace, executor, None)


def floats(acl: Acl, *shape: int) -> ctypes.c_void_p:
    return acl.view(acl.allocate(4096), FLOAT, shape)


def group_of_one(acl: Acl) -> ctypes.c_void_p:
    comm = ctypes.c_void_p()
    acl.call("HcclCommInitAll", 1, (ctypes.c_int32 * 1)(0), ctypes.byref(comm))
    return comm


def result_without_a_place(acl: Acl) -> int:
    return acl.code("aclrtGetDevice", None)


def stream_without_a_place(acl: Acl) -> int:
    return acl.code("aclrtCreateStream", None)


def plan_without_a_place(acl: Acl) -> int:
    tensor = floats(acl, 2)
    return acl.code("aclnnAbsGetWorkspaceSize", tensor, tensor, None, None)


def copy_onto_another_address(acl: Acl) -> int:
    wrong = ctypes.c_void_p(4096)
    return acl.code("aclrtMemcpy", wrong, size(8), b"12345678", size(8), TO_DEVICE)


def copy_beyond_an_allocation(acl: Acl) -> int:
    data = bytes(1 << 20)
    return acl.code("aclrtMemcpy", acl.allocate(8), size(1 << 20), data, size(1 << 20), TO_DEVICE)


def fill_of_freed_memory(acl: Acl) -> int:
    memory = acl.allocate(64)
    acl.call("aclrtFree", memory)
    return acl.code("aclrtMemset", memory, size(64), 0, size(64))


def tensor_beyond_its_memory(acl: Acl) -> int:
    out = floats(acl, 2)
    far = acl.view(acl.allocate(8), FLOAT, [2], [1 << 40])
    return plan(acl, "aclnnAbs", far, out)


def tensor_of_freed_memory(acl: Acl) -> int:
    memory = acl.allocate(64)
    tensor = acl.view(memory, FLOAT, [2])
    acl.call("aclrtFree", memory)
    return plan(acl, "aclnnAbs", tensor, tensor)


def tensor_off_its_alignment(acl: Acl) -> int:
    memory = acl.allocate(64)
    tensor = acl.view(ctypes.c_void_p((memory.value or 0) + 1), FLOAT, [2])
    return plan(acl, "aclnnAbs", tensor, tensor)


def list_whose_item_is_missing(acl: Acl) -> int:
    acl.library.aclCreateTensorList.restype = ctypes.c_void_p
    handles = (ctypes.c_void_p * 1)(None)
    tensors = ctypes.c_void_p(acl.library.aclCreateTensorList(handles, ctypes.c_uint64(1)))
    return plan(acl, "aclnnForeachAbs", tensors, tensors)


def description_of_minus_one_dimensions(acl: Acl) -> int:
    acl.library.aclCreateTensorDesc.restype = ctypes.c_void_p
    return int(acl.library.aclCreateTensorDesc(0, -1, int64s([1]), 2) is None)


def convolution_of_no_groups(acl: Acl) -> int:
    image, weight = floats(acl, 1, 2, 4, 4), floats(acl, 2, 2, 3, 3)
    ones = ctypes.c_void_p(acl.library.aclCreateIntArray(int64s([1, 1]), ctypes.c_uint64(2)))
    geometry = (ones, ones, ones, ctypes.c_bool(False), ones, ctypes.c_int64(0))
    return plan(acl, "aclnnConvolution", image, weight, None, *geometry, image, ctypes.c_int8(0))


def normalization_of_no_elements(acl: Acl) -> int:
    tensor = floats(acl, 2, 3)
    shape = ctypes.c_void_p(acl.library.aclCreateIntArray(int64s([7]), ctypes.c_uint64(1)))
    epsilon = ctypes.c_double(1e-5)
    return plan(acl, "aclnnLayerNorm", tensor, shape, None, None, epsilon, tensor, None, None)


def addition_of_other_rows(acl: Acl) -> int:
    tensor, source = floats(acl, 3, 3), floats(acl, 1)
    index = acl.view(acl.upload(encode([0] * 64, INT64)), INT64, [64])
    alpha = ctypes.c_void_p(acl.library.aclCreateScalar(ctypes.byref(ctypes.c_float(1)), FLOAT))
    return plan(acl, "aclnnIndexAdd", tensor, ctypes.c_int64(0), index, source, alpha, tensor)


def repeats_without_end(acl: Acl) -> int:
    tensor = floats(acl, 2)
    often, length = ctypes.c_int64(1 << 40), ctypes.c_int64(0)
    return plan(acl, "aclnnRepeatInterleaveInt", tensor, often, length, tensor)


def work_on_a_destroyed_stream(acl: Acl) -> int:
    stream = ctypes.c_void_p()
    acl.call("aclrtCreateStream", ctypes.byref(stream))
    acl.call("aclrtDestroyStream", stream)
    return acl.code("aclrtMemsetAsync", acl.allocate(8), size(8), 0, size(8), stream)


def callback_without_a_function(acl: Acl) -> int:
    return acl.code("aclrtLaunchCallback", None, None, 0, None)


def mapping_over_the_memory_of_others(acl: Acl) -> int:
    physical, own = ctypes.c_void_p(), mmap.mmap(-1, PAGE)
    acl.call("aclrtMallocPhysical", ctypes.byref(physical), size(PAGE), None, ctypes.c_uint64(0))
    address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(own)))
    return acl.code("aclrtMapMem", address, size(PAGE), size(0), physical, ctypes.c_uint64(0))


def mapping_beyond_the_physical_memory(acl: Acl) -> int:
    physical, region = ctypes.c_void_p(), ctypes.c_void_p()
    none = ctypes.c_uint64(0)
    acl.call("aclrtReserveMemAddress", ctypes.byref(region), size(9 * PAGE), size(0), None, none)
    acl.call("aclrtMallocPhysical", ctypes.byref(physical), size(PAGE), None, none)
    return acl.code("aclrtMapMem", region, size(9 * PAGE), size(0), physical, none)


def key_of_a_file_that_is_no_memory(acl: Acl) -> int:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(PAGE))
        file.flush()
        key = f"npusim:{os.getpid()}:{file.fileno()}:0:{PAGE}".encode()
        memory = ctypes.c_void_p()
        return acl.code("aclrtIpcMemImportByKey", ctypes.byref(memory), key, ctypes.c_uint64(0))


def sum_outside_of_the_device(acl: Acl) -> int:
    wrong, count = ctypes.c_void_p(4096), ctypes.c_uint64(8)
    return acl.code("HcclAllReduce", wrong, wrong, count, 2, 0, group_of_one(acl), None)


def sum_of_too_many(acl: Acl) -> int:
    memory, count = acl.allocate(8), ctypes.c_uint64(1 << 63)
    return acl.code("HcclAllReduce", memory, memory, count, 2, 0, group_of_one(acl), None)


def exchange_beyond_its_buffer(acl: Acl) -> int:
    """One number from a place far behind the buffer: its address is past the address space."""
    memory, group = acl.allocate(64), group_of_one(acl)
    ones, places = (ctypes.c_uint64 * 1)(1), (ctypes.c_uint64 * 1)((1 << 61) - 1)
    arguments = (memory, ones, places, 2, memory, ones, (ctypes.c_uint64 * 1)(0), 2)
    return acl.code("HcclAlltoAllV", *arguments, group, None)


def group_of_memory_that_was_freed(acl: Acl) -> int:
    """A send and a receive that were right when they were called, but not at the group's end."""
    pinned, memory, count = ctypes.c_void_p(), acl.allocate(8), ctypes.c_uint64(2)
    acl.call("aclrtMallocHost", ctypes.byref(pinned), size(8))
    group = group_of_one(acl)
    acl.call("HcclGroupStart")
    acl.call("HcclSend", pinned, count, 2, 0, group, None)
    acl.call("HcclRecv", memory, count, 2, 0, group, None)
    acl.call("aclrtFreeHost", pinned)
    return acl.code("HcclGroupEnd")


def item_of_too_many_dimensions(acl: Acl) -> int:
    acl.library.acltdtCreateDataItem.restype = ctypes.c_void_p
    dims = int64s([1] * 65)
    return int(acl.library.acltdtCreateDataItem(1, dims, size(65), 0, None, size(0)) is None)


def table_without_end(acl: Acl) -> int:
    comm = ctypes.c_void_p()
    return acl.code("HcclCommInitClusterInfo", b"/dev/zero", 0, ctypes.byref(comm))


BAD_CALLS: dict[str, Callable[[Acl], int]] = {
    call.__name__: call
    for call in (
        result_without_a_place,
        stream_without_a_place,
        plan_without_a_place,
        copy_onto_another_address,
        copy_beyond_an_allocation,
        fill_of_freed_memory,
        tensor_beyond_its_memory,
        tensor_of_freed_memory,
        tensor_off_its_alignment,
        list_whose_item_is_missing,
        description_of_minus_one_dimensions,
        convolution_of_no_groups,
        normalization_of_no_elements,
        addition_of_other_rows,
        repeats_without_end,
        work_on_a_destroyed_stream,
        callback_without_a_function,
        mapping_over_the_memory_of_others,
        mapping_beyond_the_physical_memory,
        key_of_a_file_that_is_no_memory,
        sum_outside_of_the_device,
        sum_of_too_many,
        exchange_beyond_its_buffer,
        group_of_memory_that_was_freed,
        item_of_too_many_dimensions,
        table_without_end,
    )
}


def bad_call(name: str) -> object:
    acl = Acl()
    acl.start()
    return BAD_CALLS[name](acl)


def quotients_of_the_smallest_number() -> object:
    """By -1, whole and rest: a processor traps there."""
    acl = Acl()
    acl.start()
    views = [acl.view(acl.upload(encode([x], INT64)), INT64, [1]) for x in (SMALLEST, -1)]
    memory = acl.allocate(8)
    out = acl.view(memory, INT64, [1])
    found = []
    for name in ("aclnnFloorDivide", "aclnnRemainderTensorTensor", "aclnnFmodTensor"):
        acl.operate(name, *views, out)
        found.append(int.from_bytes(acl.download(memory, 8), "little", signed=True))
    return found


def list_after_its_item_is_destroyed() -> object:
    acl = Acl()
    acl.start()
    memory = acl.upload(encode([-1.0], FLOAT))
    tensor = acl.view(memory, FLOAT, [1])
    acl.library.aclCreateTensorList.restype = ctypes.c_void_p
    handles = (ctypes.c_void_p * 1)(tensor)
    tensors = ctypes.c_void_p(acl.library.aclCreateTensorList(handles, ctypes.c_uint64(1)))
    acl.call("aclDestroyTensor", tensor)
    acl.operate("aclnnForeachAbs", tensors, tensors)
    return [
        acl.download(memory, 4) == encode([1.0], FLOAT),
        acl.code("aclDestroyTensorList", tensors),
    ]


def counts_that_change_after_a_capture() -> object:
    """The code of a replay, after the list of counts has other numbers."""
    acl = Acl()
    acl.start()
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    acl.call("aclrtCreateStream", ctypes.byref(stream))
    counts, places = (ctypes.c_uint64 * 1)(2), (ctypes.c_uint64 * 1)(0)
    group, memory, two = group_of_one(acl), acl.allocate(64), ctypes.c_uint64(2)
    acl.call("aclmdlRICaptureBegin", stream, 0)
    acl.call("HcclAllGatherV", memory, two, memory, counts, places, 2, group, stream)
    acl.call("HcclReduceScatterV", memory, counts, places, memory, two, 2, 0, group, stream)
    acl.call("aclmdlRICaptureEnd", stream, ctypes.byref(graph))
    counts[0] = places[0] = 1 << 60
    return acl.code("aclmdlRIExecute", graph, -1)


PROBES: dict[str, Callable[..., object]] = {
    probe.__name__: probe
    for probe in (
        bad_call,
        quotients_of_the_smallest_number,
        list_after_its_item_is_destroyed,
        counts_that_change_after_a_capture,
    )
}
