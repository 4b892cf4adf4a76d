# SPDX-License-Identifier: Apache-2.0
"""Arguments at random, by the kinds that functions.txt and operators.py name."""

from __future__ import annotations

import ctypes
import os
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

from tests.device.hccl_probes import SendRecvItem

from .pools import WILD, Pools

PLACE_BYTES, HOST_BYTES, ITEMS = 8192, 1 << 16, 128
SIZES = (0, 1, 2, 7, 8, 64, 512, 4096, 8192, 65536, 1 << 20)
WILD_SIZES = (1 << 31, 1 << 36, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
WILD_NUMBERS = (-(1 << 63), -(1 << 31), -129, 127, 1 << 20, (1 << 31) - 1, 1 << 33, (1 << 63) - 1)
TYPES = (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 27)
COUNTS = (0, 1, 2, 3, 4, 5, 6)
SHAPES = (
    (),
    (1,),
    (3,),
    (2, 3),
    (3, 2),
    (3, 3),
    (2, 3, 4),
    (1, 2, 4, 4),
    (2, 2, 3, 3),
    (0,),
    (2, 0),
)
ATTRIBUTES = (1, 101, 102, 201, 202, 212, 301, 302, 401, 402, 501, 601)
TEXTS = (b"", b"a", b"value", b"%s%n%d", b"\xff\xfe", b"x" * 5000)
LAYOUTS = (b"BNSD", b"BSND", b"BSH", b"SBH", b"", b"TND")
ACLOPS = (b"SyncBatchNormGatherStatsWithCounts", b"Dot", b"", b"none")

Makers = dict[str, Callable[[], object]]


def numbers_of(chance: random.Random) -> bytes:
    """What tensors hold: small integers, real numbers, and any bytes."""
    integers = struct.pack("<64q", *(chance.randrange(-1, 4) for _ in range(64)))
    reals = struct.pack("<64f", *(chance.uniform(-2, 2) for _ in range(64)))
    return (integers * 8 + reals * 8 + chance.randbytes(1024)) * (HOST_BYTES // 7168)


class Arguments:
    """One thread's source of arguments, and the places that it lends to the device."""

    def __init__(self, chance: random.Random, pools: Pools, tables: Sequence[bytes]) -> None:
        self.chance, self.pools = chance, pools
        self.place = ctypes.create_string_buffer(PLACE_BYTES)
        self.host = ctypes.create_string_buffer(numbers_of(chance), HOST_BYTES)
        self.kept: list[object] = []
        """What a pointer of the call under way leads to."""
        self.made = (ctypes.c_void_p * ITEMS)()
        """Where the device puts the handles that it makes."""
        self.leak = ctypes.c_void_p()
        free = ctypes.CDLL(None).free
        self.function = ctypes.cast(free, ctypes.c_void_p).value  # of null it does nothing
        self._kinds = {**self._numbers_by_kind(), **self._pointers_by_kind(tables)}

    def _numbers_by_kind(self) -> Makers:
        number, pick = self._number, self.chance.choice
        return {
            "int64": lambda: ctypes.c_int64(number()),
            "int32": lambda: ctypes.c_int64(number()),
            "int8": lambda: ctypes.c_int64(pick((0, 0, 1, 2, -1, 127))),
            "bool": lambda: ctypes.c_int64(pick((0, 1))),
            "double": lambda: ctypes.c_double(self._real()),
            "float": lambda: ctypes.c_float(self._real()),
            "size": lambda: ctypes.c_uint64(self.size()),
            "length": lambda: ctypes.c_uint64(pick((0, 1, 8, 64, 1024))),
            "host_size": lambda: ctypes.c_uint64(pick((0, 1, 512, 4096))),
            "milliseconds": lambda: ctypes.c_int64(pick((-1, 0, 1))),
            "elements": lambda: ctypes.c_uint64(self._mostly((0, 1, 2, 5, 64), WILD_SIZES)),
            "type": lambda: ctypes.c_int64(self._mostly(TYPES, (-1, 5, 13, 99, 1 << 20))),
            "rank": lambda: ctypes.c_uint64(self._mostly(COUNTS, (64, 65, *WILD_SIZES))),
            "rank32": lambda: ctypes.c_int64(self._mostly(COUNTS, (-1, -(1 << 31)))),
            "count": lambda: ctypes.c_uint64(self._mostly(COUNTS, WILD_SIZES[1:])),
            "index": lambda: ctypes.c_uint64(self._mostly(COUNTS, WILD_SIZES)),
            "device": lambda: ctypes.c_int64(self._mostly((0, 1, 7), (-1, 8, 1 << 20))),
            "ranks": lambda: ctypes.c_int64(
                self._rarely((1,), (0, 2, 3, 65, (1 << 32) - 1), 0.004)
            ),
            "rank_id": lambda: ctypes.c_int64(self._rarely((0,), (1, 64, (1 << 32) - 1), 0.05)),
            "root": lambda: ctypes.c_int64(self._rarely((0,), (1, 2, (1 << 32) - 1), 0.1)),
            # With 1 and 2, the device believes the caller's addresses.
            "placement": lambda: ctypes.c_int64(pick((0, -1, 3))),
            "messages_given": lambda: ctypes.c_uint64(pick(COUNTS)),
            "poll": lambda: ctypes.c_int64(pick((0, 1))),
            "attribute": lambda: ctypes.c_int64(self._mostly(ATTRIBUTES, WILD_NUMBERS)),
            "one": lambda: ctypes.c_int64(pick((0, 1, 1, 2, -1))),
        }

    def _pointers_by_kind(self, tables: Sequence[bytes]) -> Makers:
        pick = self.chance.choice
        return {
            "null": lambda: None,
            "text": lambda: pick((None, *TEXTS)),
            "layout": lambda: pick((*LAYOUTS, None)),
            "aclop": lambda: pick((*ACLOPS, None)),
            "path": lambda: pick((*tables, b"/dev/zero", b"/", b"", b"/none", None)),
            "key": self._key,
            "out": lambda: self._sometimes_null(self.place),
            "key_place": lambda: self._sometimes_null(self.place),
            "root_info": lambda: self._sometimes_null(self.place),
            "leak": lambda: self._sometimes_null(ctypes.byref(self.leak)),
            "function": lambda: ctypes.c_void_p(pick((self.function, None))),
            "host": lambda: ctypes.c_void_p(ctypes.addressof(self.host) + pick((0, 8, 4096))),
            "memory": lambda: ctypes.c_void_p(self.address()),
            "number": lambda: self._sometimes_null(self._numbers()),
            "dims": lambda: self._sometimes_null(self._numbers()),
            "counts": lambda: self._sometimes_null(self._numbers()),
            "messages": lambda: self._sometimes_null(self._messages()),
            "device_ids": lambda: self._sometimes_null((ctypes.c_int32 * ITEMS)(0, 1, 2)),
            "comm_place": lambda: self._handles("comm"),
            "factors": lambda: self._handle(pick(("tensor", "scalar", "scalars"))),
        }

    def __call__(self, kind: str) -> Any:
        """The argument of a kind; a handle of one of the pools where it is no other kind."""
        if kind[0] == "+":
            return self._sometimes_null(self.made)
        if maker := self._kinds.get(kind):
            return maker()
        if kind.endswith("_handles"):
            return self._handles(kind.removesuffix("_handles"))
        return self._handle(kind)

    def size(self) -> int:
        return self._mostly(SIZES, WILD_SIZES)

    def address(self) -> int:
        """Mostly of the device's memory, of one kind or the other."""
        kinds = ("memory", "memory", "memory", "memory", "region", "import", "pinned")
        address = self.pools.pick(self.chance, self.chance.choice(kinds))
        return (address + self.chance.choice((0, 0, 0, 0, 1, 8, 512, 4096))) % (1 << 64)

    def _mostly(self, good: Sequence[int], wild: Sequence[int]) -> int:
        return self._rarely(good, wild, 0.15)

    def _rarely(self, good: Sequence[int], wild: Sequence[int], share: float) -> int:
        return self.chance.choice(wild if self.chance.random() < share else good)

    def _sometimes_null(self, place: Any) -> Any:
        return None if self.chance.random() < 0.05 else self.keep(place)

    def keep(self, place: Any) -> Any:
        self.kept.append(place)
        return place

    def _number(self) -> int:
        return self._mostly(range(-4, 9), WILD_NUMBERS)

    def _real(self) -> float:
        return self.chance.choice((0.0, 1.0, -1.0, 0.5, 1e-5, 1e300, float("inf"), float("nan")))

    def _numbers(self) -> Any:
        numbers = (ctypes.c_int64 * ITEMS)()
        shape = self.chance.choice(SHAPES)
        for index in range(6):
            numbers[index] = self._number() if self.chance.random() < 0.2 else 1
        for index, extent in enumerate(shape):
            numbers[index] = extent
        return numbers

    def _messages(self) -> Any:
        """A send and a receive of the same, and messages at random."""
        messages = (SendRecvItem * ITEMS)()
        pick, count, kind = self.chance.choice, self("elements").value, self("type").value
        for index in range(len(COUNTS)):
            if index > 1:
                count, kind = self("elements").value, self("type").value
            wanted = index if index < 2 else pick((0, 1, 1, 2, -1))
            peer = self("root").value % (1 << 32)
            messages[index] = SendRecvItem(wanted, self.address(), count, kind, peer)
        return messages

    def _handle(self, kind: str) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.pools.pick(self.chance, kind.lstrip("-")))

    def _handles(self, kind: str) -> Any:
        handles = (ctypes.c_void_p * ITEMS)()
        for index in range(8):
            handles[index] = self.pools.pick(self.chance, kind) or None
        return self._sometimes_null(handles)

    def _key(self) -> bytes | None:
        process = os.getpid()
        wild = f"npusim:{process}:{self.chance.choice(WILD)}:{self._number()}:{self.size()}"
        keys = (self.pools.key, self.pools.key, b"npusim:0:1:2", wild.encode(), b"", None)
        return self.chance.choice(keys)
