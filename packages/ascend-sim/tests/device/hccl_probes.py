# SPDX-License-Identifier: Apache-2.0
"""Probes of collectives: each process is one rank, but where it says otherwise."""

from __future__ import annotations

import ctypes
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence

from .acl import INT32, Acl, CallError, decode, encode

SUM, INT32_TYPE, FLOAT_TYPE = 0, 2, 4
SEND, RECEIVE = 0, 1


class SendRecvItem(ctypes.Structure):
    """The struct of the same name of hccl_types.h."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("buffer", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("type", ctypes.c_int32),
        ("peer", ctypes.c_uint32),
    )


def counts(*values: int) -> ctypes.Array[ctypes.c_uint64]:
    return (ctypes.c_uint64 * len(values))(*values)


class Rank:
    """One rank of a group, with buffers of 32-bit integers."""

    def __init__(self, acl: Acl, comm: ctypes.c_void_p, number: int) -> None:
        self.acl, self.comm, self.number = acl, comm, number

    @classmethod
    def join(cls, name: str, number: int, ranks: int) -> Rank:
        acl = Acl()
        acl.start()
        comm = ctypes.c_void_p()
        acl.call("HcclCommInitRootInfo", ranks, name.encode(), number, ctypes.byref(comm))
        return cls(acl, comm, number)

    def buffer(self, values: Sequence[int]) -> ctypes.c_void_p:
        return self.acl.upload(encode(values, INT32))

    def read(self, buffer: ctypes.c_void_p, count: int) -> list[int]:
        return [int(x) for x in decode(self.acl.download(buffer, 4 * count), INT32)]

    def call(self, operation: str, *arguments: object) -> None:
        self.acl.call(f"Hccl{operation}", *arguments, self.comm, None)

    def sum(self, values: Sequence[int]) -> list[int]:
        send, out = self.buffer(values), self.buffer(values)
        self.call("AllReduce", send, out, ctypes.c_uint64(len(values)), INT32_TYPE, SUM)
        return self.read(out, len(values))


def communicate(name: str, number: str) -> object:
    """All collectives of two ranks, on values that differ in every rank and place."""
    rank = Rank.join(name, int(number), 2)
    own = rank.number
    send = rank.buffer([own + 1, 10 * (own + 1)])
    two, one = ctypes.c_uint64(2), ctypes.c_uint64(1)
    results = {"AllReduce": rank.sum([own + 1, 10 * (own + 1)])}

    def collect(operation: str, out: ctypes.c_void_p, length: int, *arguments: object) -> None:
        rank.call(operation, *arguments)
        results[operation] = rank.read(out, length)

    out = rank.buffer([0] * 4)
    collect("AllGather", out, 4, send, out, two, INT32_TYPE)
    collect("ReduceScatter", out, 1, send, out, one, INT32_TYPE, SUM)
    collect("Scatter", out, 1, send, out, one, INT32_TYPE, 1)
    collect("AlltoAll", out, 2, send, one, INT32_TYPE, out, one, INT32_TYPE)
    copy = rank.buffer([own + 1, 10 * (own + 1)])
    collect("Broadcast", copy, 2, copy, two, INT32_TYPE, 1)
    # Rank 0 keeps nothing and gives two; rank 1 keeps one and gives none.
    given, places = (counts(0, 2), counts(0, 0)) if own == 0 else (counts(0, 1), counts(0, 1))
    taken, starts = (counts(0, 0), counts(0, 0)) if own == 0 else (counts(2, 1), counts(1, 0))
    out = rank.buffer([0] * 4)
    arguments = (send, given, places, INT32_TYPE, out, taken, starts, INT32_TYPE)
    collect("AlltoAllV", out, 3, *arguments)
    rank.acl.call("HcclBarrier", rank.comm, None)
    rank.acl.call("HcclCommDestroy", rank.comm)
    return results


def exchange_with_the_next(name: str, number: str) -> object:
    """Three ranks in a ring, each with more than one piece, in one batch."""
    rank = Rank.join(name, int(number), 3)
    length = 50_000
    send, out = rank.buffer([rank.number] * length), rank.buffer([9] * length)
    to, origin = (rank.number + 1) % 3, (rank.number - 1) % 3
    items = (SendRecvItem * 2)(
        SendRecvItem(SEND, send, length, INT32_TYPE, to),
        SendRecvItem(RECEIVE, out, length, INT32_TYPE, origin),
    )
    rank.call("BatchSendRecv", items, 2)
    return sorted(set(rank.read(out, length)))


def exchange_in_a_group(name: str, number: str) -> object:
    """Two ranks that both send first, within a group inside of a group, and then sum."""
    rank = Rank.join(name, int(number), 2)
    length = ctypes.c_uint64(50_000)
    send, out = rank.buffer([rank.number] * 50_000), rank.buffer([9] * 50_000)
    rank.acl.call("HcclGroupStart")
    rank.acl.call("HcclGroupStart")
    rank.call("Send", send, length, INT32_TYPE, 1 - rank.number)
    rank.call("Recv", out, length, INT32_TYPE, 1 - rank.number)
    rank.acl.call("HcclGroupEnd")
    before = rank.read(out, 1)
    rank.acl.call("HcclGroupEnd")
    code = rank.acl.code("HcclGroupEnd")
    return [before, sorted(set(rank.read(out, 50_000))), rank.sum([1]), code]


def disagree(name: str, number: str, what: str) -> object:
    """Two ranks of which the second asks for something else."""
    rank = Rank.join(name, int(number), 2)
    odd = rank.number == 1
    buffers = [rank.buffer([1] * 8) for _ in range(2)]
    count = ctypes.c_uint64(3 if odd and what == "count" else 2)
    kind = FLOAT_TYPE if odd and what == "type" else INT32_TYPE
    if what == "message":
        rank.call("Recv" if odd else "Send", buffers[0], ctypes.c_uint64(3 - odd), kind, 1 - odd)
    elif odd and what == "operation":
        rank.call("AllGather", *buffers, count, kind)
    elif what == "root":
        rank.call("Broadcast", buffers[0], count, kind, 1 if odd else 0)
    else:
        rank.call("AllReduce", *buffers, count, kind, 2 if odd and what == "reduction" else SUM)
    return "agreed"


def work_until_an_error(name: str, number: str, ranks: str) -> object:
    """Says on stderr when it begins; returns the error, and how long the last operation took."""
    rank = Rank.join(name, int(number), int(ranks))
    print("working", file=sys.stderr, flush=True)
    while True:
        start = time.monotonic()
        try:
            rank.sum([rank.number] * 10_000)
        except CallError as error:
            return {
                "code": error.code,
                "message": error.message,
                "seconds": time.monotonic() - start,
            }


def collectives_until_an_error(name: str, number: str, ranks: str, seed: str) -> object:
    """Collectives in an order that the seed gives to all ranks; begins to tell when it joins."""
    print("joining", file=sys.stderr, flush=True)
    rank = Rank.join(name, int(number), int(ranks))
    print("working", file=sys.stderr, flush=True)
    chance, most = random.Random(seed), 400_000  # more than the device passes on at once
    send, out = rank.buffer([1] * most), rank.buffer([0] * most)
    while True:
        count = ctypes.c_uint64(chance.choice((1, 1_000, most)) // int(ranks))
        pair, root = (send, out, count, INT32_TYPE), chance.randrange(int(ranks))
        rank.call(
            *chance.choice(
                (
                    ("AllReduce", *pair, SUM),
                    ("AllGather", *pair),
                    ("ReduceScatter", *pair, SUM),
                    ("Broadcast", out, count, INT32_TYPE, root),
                    ("Scatter", *pair, root),
                    ("AlltoAll", send, count, INT32_TYPE, out, count, INT32_TYPE),
                    ("Barrier",),
                )
            )
        )


def wait_for_a_late_rank(name: str, number: str, seconds: str) -> object:
    """Rank 1 comes to the second sum only after some time."""
    rank = Rank.join(name, int(number), 2)
    rank.sum([1])
    if rank.number == 1:
        time.sleep(float(seconds))
    return rank.sum([1])


def join_by_table(path: str, number: str) -> object:
    acl = Acl()
    acl.start()
    comm = ctypes.c_void_p()
    acl.call("HcclCommInitClusterInfo", path.encode(), int(number), ctypes.byref(comm))
    return Rank(acl, comm, int(number)).sum([int(number), 1])


def all_ranks_in_one_process() -> object:
    acl = Acl()
    acl.start()
    devices, comms = (ctypes.c_int32 * 3)(0, 1, 2), (ctypes.c_void_p * 3)()
    acl.call("HcclCommInitAll", 3, devices, comms)
    sums: dict[int, list[int]] = {}

    def work(number: int) -> None:
        acl.call("aclrtSetDevice", number)
        sums[number] = Rank(acl, ctypes.c_void_p(comms[number]), number).sum([number, 1])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [sums[number] for number in range(3)]


def sum_in_a_graph(name: str, number: str) -> object:
    """Captures a sum of two ranks, and replays it on other values."""
    rank = Rank.join(name, int(number), 2)
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    rank.acl.call("aclrtCreateStream", ctypes.byref(stream))
    send, out = rank.buffer([1]), rank.buffer([0])
    rank.acl.call("aclmdlRICaptureBegin", stream, 0)
    one = ctypes.c_uint64(1)
    rank.acl.call("HcclAllReduce", send, out, one, INT32_TYPE, SUM, rank.comm, stream)
    rank.acl.call("aclmdlRICaptureEnd", stream, ctypes.byref(graph))
    seen = [rank.read(out, 1)]
    for value in (2, 3):
        size = ctypes.c_size_t(4)
        rank.acl.call("aclrtMemcpy", send, size, encode([value], INT32), size, 1)
        rank.acl.call("aclmdlRIExecuteAsync", graph, stream)
        seen.append(rank.read(out, 1))
    return seen


PROBES: dict[str, Callable[..., object]] = {
    probe.__name__: probe
    for probe in (
        communicate,
        exchange_in_a_group,
        exchange_with_the_next,
        disagree,
        work_until_an_error,
        collectives_until_an_error,
        wait_for_a_late_rank,
        join_by_table,
        all_ranks_in_one_process,
        sum_in_a_graph,
    )
}
