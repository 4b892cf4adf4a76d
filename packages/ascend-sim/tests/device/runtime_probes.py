# SPDX-License-Identifier: Apache-2.0
"""Probes of memory between host, device and processes, and of events."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path

from .acl import Acl

KEY_BYTES = 65
HOST, DEVICE, UNREGISTERED = 0, 1, 2


class PointerAttributes(ctypes.Structure):
    """The struct aclrtPtrAttributes of acl_rt.h."""

    _fields_ = (
        ("id", ctypes.c_uint32),
        ("location", ctypes.c_int32),
        ("page_bytes", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32 * 4),
    )


def location(acl: Acl, address: ctypes.c_void_p) -> int:
    attributes = PointerAttributes()
    acl.call("aclrtPointerGetAttributes", address, ctypes.byref(attributes))
    return int(attributes.location)


def register_host_memory() -> object:
    acl = Acl()
    acl.start()
    memory = ctypes.create_string_buffer(4096)
    address, seen = ctypes.cast(memory, ctypes.c_void_p), ctypes.c_void_p()
    size = ctypes.c_uint64(4096)
    before = location(acl, address)
    codes = [
        acl.code("aclrtHostRegister", address, size, 0, ctypes.byref(seen)),
        acl.code("aclrtHostRegister", address, size, 0, ctypes.byref(seen)),
    ]
    during = location(acl, ctypes.c_void_p((address.value or 0) + 4095))
    codes += [acl.code("aclrtHostUnregister", address) for _ in range(2)]
    return {
        "codes": codes,
        "same": seen.value == address.value,
        "locations": [before, during, location(acl, address)],
        "device": location(acl, acl.allocate(1)),
    }


def share_memory() -> object:
    """Writes, hands out the key, and reads again when the other process has answered."""
    acl = Acl()
    acl.start()
    acl.allocate(5000)
    memory, key = acl.allocate(8192), ctypes.create_string_buffer(KEY_BYTES)
    inside = ctypes.c_void_p((memory.value or 0) + 512)
    size = ctypes.c_size_t(5)
    acl.call("aclrtMemcpy", inside, size, b"first", size, 1)
    acl.call("aclrtIpcMemGetExportKey", inside, size, key, ctypes.c_size_t(KEY_BYTES), 0)
    print(key.value.decode(), file=sys.stderr, flush=True)
    sys.stdin.readline()
    return acl.download(inside, 5).decode()


def use_shared_memory(key: str) -> object:
    acl = Acl()
    acl.start()
    memory, size = ctypes.c_void_p(), ctypes.c_size_t(5)
    acl.call("aclrtIpcMemImportByKey", ctypes.byref(memory), key.encode(), 0)
    seen = acl.download(memory, 5).decode()
    acl.call("aclrtMemcpy", memory, size, b"other", size, 1)
    codes = [acl.code("aclrtIpcMemClose", key.encode()) for _ in range(2)]
    return [seen, *codes]


def use_a_bad_key(key: str) -> object:
    acl = Acl()
    acl.start()
    memory = ctypes.c_void_p()
    acl.call("aclrtIpcMemImportByKey", ctypes.byref(memory), key.encode(), 0)
    return "imported"


def event_before_and_after_its_record() -> object:
    acl = Acl()
    acl.start()
    event, status = ctypes.c_void_p(), ctypes.c_int32(9)
    acl.call("aclrtCreateEvent", ctypes.byref(event))
    seen = []
    for step in (None, "aclrtRecordEvent", "aclrtResetEvent"):
        if step:
            acl.call(step, event, None)
        acl.call("aclrtQueryEventStatus", event, ctypes.byref(status))
        seen.append(status.value)
    return seen


def reuse_of_freed_memory() -> object:
    """Whether memory that was freed is given again, whatever the order and the sizes."""
    acl = Acl()
    acl.start()
    blocks = [acl.allocate(size) for size in (100, 70_000, 513, 2 << 20, 1)]
    starts = [block.value or 0 for block in blocks]
    for block in (blocks[1], blocks[3], blocks[0], blocks[4], blocks[2]):
        acl.call("aclrtFree", block)
    whole = acl.allocate(64 << 20)
    return {"aligned": {start % 512 for start in starts} == {0}, "again": whole.value == starts[0]}


def hold_memory(size: str) -> object:
    """Uses the device until its input ends."""
    acl = Acl()
    acl.start()
    acl.allocate(int(size))
    print("holding", file=sys.stderr, flush=True)
    sys.stdin.readline()
    return "done"


def profile() -> object:
    acl = Acl()
    return [acl.code("aclprofInit", b"/tmp", 4), acl.code("aclprofStart", None)]


def collection_of_activities() -> object:
    """As torch_npu asks: with the kind alone, so that the next register holds anything."""
    query = Acl().library.msptiActivityIsEnabled
    query.restype = ctypes.c_bool
    return query(ctypes.c_int(1), ctypes.c_void_p(1))


def work_while_a_card_is_lost(fault_file: str) -> object:
    """The codes of an allocation before and after the fault begins."""
    acl = Acl()
    acl.start()
    memory = ctypes.c_void_p()
    arguments = (ctypes.byref(memory), ctypes.c_size_t(16), 0)
    codes = [acl.code("aclrtMalloc", *arguments)]
    for fault in ("lost-card=1\n", "# nothing\nlost-card=0\n"):
        Path(fault_file).write_text(fault)
        codes.append(acl.code("aclrtMalloc", *arguments))
    message = acl.library.aclGetRecentErrMsg() or b""
    return {"codes": codes, "message": message.decode()}


def products(count: str) -> object:
    acl = Acl()
    acl.start()
    return [str(acl.matmul([[2]], [[3]], 0)[0]) for _ in range(int(count))]


def products_around_a_fault(fault_file: str) -> object:
    acl = Acl()
    acl.start()
    seen = []
    for fault in ("", "nan=1\n", "", "nan=1\n# again\n"):
        Path(fault_file).write_text(fault)
        seen += [str(acl.matmul([[2]], [[3]], 0)[0]) for _ in range(2)]
    return seen


class PackageVersion(ctypes.Structure):
    """The struct aclCANNPackageVersion of acl_rt.h."""

    _fields_ = (
        ("version", ctypes.c_char * 128),
        ("parts", ctypes.c_char * 64 * 4),
        ("reserved", ctypes.c_char * 128),
    )


def release(package: str) -> object:
    version = PackageVersion()
    code = Acl().code("aclsysGetCANNVersion", int(package), ctypes.byref(version))
    return [code, version.version.decode(), [part.value.decode() for part in version.parts]]


def set_stream_attribute() -> object:
    return Acl().code("aclrtSetStreamAttribute", None, 1, None)


def bounded_text() -> object:
    """Codes and buffers of a text that fits and of one that does not."""
    library = Acl().library

    def print_to(size: int, count: int, text: bytes) -> object:
        out = ctypes.create_string_buffer(b"?" * 16)
        sizes = ctypes.c_size_t(size), ctypes.c_size_t(count)
        return [library.snprintf_s(out, *sizes, b"%s", text), out.value.decode()]

    def copy_to(size: int, text: bytes | None) -> object:
        out = ctypes.create_string_buffer(b"?" * 16)
        return [library.strcpy_s(out, ctypes.c_size_t(size), text), out.value.decode()]

    return {
        "printed": [
            print_to(8, 7, b"seven.."),
            print_to(8, 99, b"eight..."),
            print_to(8, 3, b"four"),
        ],
        "copied": [copy_to(4, b"abc"), copy_to(4, b"abcd"), copy_to(4, None)],
    }


PROBES: dict[str, Callable[..., object]] = {
    probe.__name__: probe
    for probe in (
        bounded_text,
        register_host_memory,
        release,
        set_stream_attribute,
        share_memory,
        use_shared_memory,
        use_a_bad_key,
        event_before_and_after_its_record,
        reuse_of_freed_memory,
        hold_memory,
        profile,
        collection_of_activities,
        work_while_a_card_is_lost,
        products,
        products_around_a_fault,
    )
}
