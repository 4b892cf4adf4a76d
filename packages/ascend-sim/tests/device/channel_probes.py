# SPDX-License-Identifier: Apache-2.0
"""Probes of channels of tensors."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

from .acl import FLOAT, Acl, decode, int64s

TENSOR = 0
POINTERS = (
    "acltdtCreateChannelWithCapacity",
    "acltdtCreateDataset",
    "acltdtCreateDataItem",
    "acltdtGetDataItem",
    "acltdtGetDataAddrFromItem",
)


class Channel:
    """A channel of the first device, with room for some datasets."""

    def __init__(self, acl: Acl, room: int) -> None:
        self.acl = acl
        for name in POINTERS:
            getattr(acl.library, name).restype = ctypes.c_void_p
        acl.library.acltdtGetDataSizeFromItem.restype = ctypes.c_size_t
        create = acl.library.acltdtCreateChannelWithCapacity
        self.handle = ctypes.c_void_p(create(0, b"numbers", ctypes.c_size_t(room)))

    def dataset(self, *values: float) -> ctypes.c_void_p:
        """A dataset with one tensor of these values, or with none."""
        dataset = ctypes.c_void_p(self.acl.library.acltdtCreateDataset())
        if values:
            data = (ctypes.c_float * len(values))(*values)
            item = self.acl.library.acltdtCreateDataItem(
                TENSOR, int64s([len(values)]), ctypes.c_size_t(1), FLOAT, data, ctypes.sizeof(data)
            )
            self.acl.call("acltdtAddDataItem", dataset, ctypes.c_void_p(item))
        return dataset

    def send(self, *values: float, timeout: int = 0) -> int:
        return self.acl.code("acltdtSendTensor", self.handle, self.dataset(*values), timeout)

    def receive(self, timeout: int = 0) -> int:
        return self.acl.code("acltdtReceiveTensor", self.handle, self.dataset(), timeout)


def keeps_order() -> object:
    acl = Acl()
    acl.start()
    channel = Channel(acl, 2)
    assert channel.send(1, 2) == channel.send(3, 4) == 0
    found = []
    for _ in range(2):
        dataset = channel.dataset()
        acl.call("acltdtReceiveTensor", channel.handle, dataset, -1)
        assert acl.library.acltdtGetDatasetSize(dataset) == 1
        item = ctypes.c_void_p(acl.library.acltdtGetDataItem(dataset, ctypes.c_size_t(0)))
        size = acl.library.acltdtGetDataSizeFromItem(item)
        data = ctypes.string_at(acl.library.acltdtGetDataAddrFromItem(item), size)
        found.append(decode(data, FLOAT))
        acl.call("acltdtDestroyDataset", dataset)
    return found


def times_out() -> object:
    acl = Acl()
    acl.start()
    channel = Channel(acl, 1)
    received = channel.receive(timeout=10)
    channel.send(1)
    size = ctypes.c_size_t()
    sent = channel.send(2, timeout=10)
    acl.call("acltdtQueryChannelSize", channel.handle, ctypes.byref(size))
    return {"receive": received, "send": sent, "size": size.value}


def is_stopped() -> object:
    acl = Acl()
    acl.start()
    channel = Channel(acl, 1)
    codes: list[int] = []
    waiting = threading.Thread(target=lambda: codes.append(channel.receive(timeout=-1)))
    waiting.start()
    time.sleep(0.05)
    # Its answer is the same should it begin only now; nothing else would end the wait.
    acl.call("acltdtStopChannel", channel.handle)
    waiting.join()
    acl.call("acltdtDestroyChannel", channel.handle)
    return codes[0]


def bad_arguments() -> object:
    acl = Acl()
    acl.start()
    channel = Channel(acl, 1)
    create = acl.library.acltdtCreateChannelWithCapacity
    made = [
        create(99, b"elsewhere", ctypes.c_size_t(1)),
        create(0, None, ctypes.c_size_t(1)),
        create(0, b"without room", ctypes.c_size_t(0)),
        acl.library.acltdtCreateDataItem(TENSOR, None, ctypes.c_size_t(1), FLOAT, None, 0),
    ]
    codes = [
        acl.code("acltdtSendTensor", channel.dataset(), channel.dataset(), 0),
        acl.code("acltdtReceiveTensor", channel.handle, channel.handle, 0),
        acl.code("acltdtDestroyDataItem", channel.handle),
    ]
    return {"made": made, "codes": codes}


PROBES: dict[str, Callable[..., object]] = {
    "channel_keeps_order": keeps_order,
    "channel_times_out": times_out,
    "channel_is_stopped": is_stopped,
    "channel_bad_arguments": bad_arguments,
}
