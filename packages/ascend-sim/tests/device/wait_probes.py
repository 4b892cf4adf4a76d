# SPDX-License-Identifier: Apache-2.0
"""Probes of streams that wait for a number in memory, and of what a device tells of itself."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections.abc import Callable

from .acl import Acl

AT_LEAST, EQUAL, AND, NOR = range(4)
Handle = ctypes.c_void_p


class Waiter:
    """A device with a number that streams wait for, and a byte that they write."""

    def __init__(self) -> None:
        self.acl = Acl()
        self.acl.start()
        self.number = self.acl.upload(struct.pack("<Q", 0))
        self.mark = self.acl.upload(b"\0")

    def stream(self) -> Handle:
        return self._made("aclrtCreateStream")

    def event(self) -> Handle:
        return self._made("aclrtCreateEvent")

    def _made(self, name: str) -> Handle:
        handle = Handle()
        self.acl.call(name, ctypes.byref(handle))
        return handle

    def wait(self, stream: Handle | None, value: int, flag: int = EQUAL) -> None:
        self.acl.call("aclrtValueWait", self.number, ctypes.c_uint64(value), flag, stream)

    def write(self, stream: Handle | None, value: int) -> None:
        self.acl.call("aclrtValueWrite", self.number, ctypes.c_uint64(value), 0, stream)

    def set_mark(self, stream: Handle | None, value: int) -> None:
        one = ctypes.c_size_t(1)
        self.acl.call("aclrtMemsetAsync", self.mark, one, value, one, stream)

    def asked(self, name: str, handle: Handle) -> int:
        status = ctypes.c_int32(99)
        self.acl.call(name, handle, ctypes.byref(status))
        return status.value

    @property
    def seen(self) -> int:
        return self.acl.download(self.mark, 1)[0]


def wait_for_another_stream() -> object:
    """What a stream and an event tell, and the mark, before and after the number is written."""
    it = Waiter()
    waiting, behind, writer, event = it.stream(), it.stream(), it.stream(), it.event()

    def state() -> list[int]:
        told = [it.asked("aclrtStreamQuery", each) for each in (waiting, behind)]
        return [*told, it.asked("aclrtQueryEventStatus", event), it.seen]

    it.wait(waiting, 5)
    it.set_mark(waiting, 1)
    it.acl.call("aclrtRecordEvent", event, waiting)
    it.acl.call("aclrtStreamWaitEvent", behind, event)
    it.set_mark(behind, 2)
    before = state()
    it.write(writer, 4)
    still = state()
    it.write(writer, 5)
    return [before, still, state()]


def comparisons() -> object:
    """Whether a stream goes on when the number is 6, by comparison and value."""
    it = Waiter()
    it.write(None, 6)
    values = {AT_LEAST: (5, 6, 7), EQUAL: (6, 7), AND: (4, 1), NOR: (1, (1 << 64) - 1)}
    found: dict[int, list[bool]] = {}
    for flag, given in values.items():
        for value in given:
            stream = it.stream()
            it.wait(stream, value, flag)
            found.setdefault(flag, []).append(it.asked("aclrtStreamQuery", stream) == 0)
    return list(found.values())


def synchronize_while_waiting() -> object:
    """Codes of a wait that is too short, and of waits that another thread ends."""
    it = Waiter()
    stream, event = it.stream(), it.event()
    it.wait(stream, 1)
    it.set_mark(stream, 3)
    it.acl.call("aclrtRecordEvent", event, stream)
    codes = [it.acl.code("aclrtSynchronizeStreamWithTimeout", stream, 20)]
    codes.append(it.acl.code("aclrtSynchronizeDeviceWithTimeout", 20))

    def write_later() -> None:
        time.sleep(0.1)
        it.write(None, 1)

    thread = threading.Thread(target=write_later)
    thread.start()
    codes.append(it.acl.code("aclrtSynchronizeEvent", event))
    codes.append(it.acl.code("aclrtSynchronizeStream", stream))
    codes.append(it.acl.code("aclrtSynchronizeDevice"))
    thread.join()
    return [codes, it.seen]


def replay_that_waits() -> object:
    """The mark while a replay waits and after it; its task is replaced in between."""
    it = Waiter()
    stream, update, graph, group = it.stream(), it.stream(), Handle(), Handle()
    it.acl.call("aclmdlRICaptureBegin", stream, 0)
    it.wait(stream, 1)
    it.write(stream, 0)
    it.acl.call("aclmdlRICaptureTaskGrpBegin", stream)
    it.set_mark(stream, 7)
    it.acl.call("aclmdlRICaptureTaskGrpEnd", stream, ctypes.byref(group))
    it.acl.call("aclmdlRICaptureEnd", stream, ctypes.byref(graph))
    seen = []
    for value in (8, 9):
        it.acl.call("aclmdlRIExecuteAsync", graph, stream)
        seen.append(it.seen)
        it.acl.call("aclmdlRICaptureTaskUpdateBegin", update, group)
        it.set_mark(update, value)
        it.acl.call("aclmdlRICaptureTaskUpdateEnd", update)
        it.write(update, 1)
        it.acl.call("aclrtSynchronizeStream", stream)
        seen.append(it.seen)
    return seen


def failure_after_a_wait() -> object:
    """Codes of work that fails when its turn has come, and of the next synchronization."""
    it = Waiter()
    stream, gone, size = it.stream(), it.acl.allocate(64), ctypes.c_size_t(64)
    it.wait(stream, 1)
    codes = [it.acl.code("aclrtMemsetAsync", gone, size, 0, size, stream)]
    it.acl.call("aclrtFree", gone)
    it.write(None, 1)
    return codes + [it.acl.code("aclrtSynchronizeStream", stream) for _ in range(2)]


def refused_values() -> object:
    """Codes for no address, one that is not aligned, one of the host, and wrong flags."""
    it = Waiter()
    odd = Handle((it.number.value or 0) + 4)
    host = ctypes.cast(ctypes.create_string_buffer(8), Handle)
    zero = ctypes.c_uint64(0)
    places = [(None, 0), (odd, 0), (host, 0), (it.number, 4)]
    return [
        it.acl.code(name, place, zero, flag, None)
        for name in ("aclrtValueWait", "aclrtValueWrite")
        for place, flag in places
    ]


def device_info(device: str, *attributes: str) -> object:
    """The code and the value of each attribute; before any device is set."""
    acl, found = Acl(), []
    for attribute in attributes:
        value = ctypes.c_int64(-1)
        code = acl.code("aclrtGetDeviceInfo", int(device), int(attribute), ctypes.byref(value))
        found.append([code, value.value])
    return found


PROBES: dict[str, Callable[..., object]] = {
    probe.__name__: probe
    for probe in (
        wait_for_another_stream,
        comparisons,
        synchronize_while_waiting,
        replay_that_waits,
        failure_after_a_wait,
        refused_values,
        device_info,
    )
}
