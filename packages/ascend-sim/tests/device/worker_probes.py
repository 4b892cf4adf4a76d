# SPDX-License-Identifier: Apache-2.0
"""Probes of the process that carries out operators with torch, and of the memory that it maps."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

from .acl import FLOAT, decode, encode
from .torch_probes import Client, failure, renormed

PAGE = 4096


def is_worker(folder: Path) -> bool:
    """Whether a process is the worker of this one: not its child, but with its environment."""
    mark = f"NPUSIM_TEST_PROBE={os.getpid()}".encode()
    try:
        command, environment = ((folder / name).read_bytes() for name in ("cmdline", "environ"))
    except OSError:
        return False
    return b"npusim_torch/worker.py" in command and mark in environment.split(b"\0")


def workers() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if is_worker(folder)]


def started() -> Client:
    """A client whose worker can be told from others."""
    os.putenv("NPUSIM_TEST_PROBE", str(os.getpid()))
    return Client()


def operate(client: Client, rows: int = 16) -> float:
    """The error of one operator that only torch carries out."""
    x = np.random.default_rng(0).normal(size=(rows, 16)).astype("f4")
    out = client.zeros(x.shape)
    client.call("Renorm", client.put(x), client.scalar(2.0), 0, client.scalar(1.0), out)
    return float(np.abs(out.read() - renormed(x)).max())


def ended() -> object:
    """A worker that is killed: the next operator says so, and the one after it starts another."""
    client = started()
    error = operate(client)
    (first,) = workers()
    os.kill(first, signal.SIGKILL)
    refused = failure(lambda: operate(client))
    again = operate(client)
    (second,) = [worker for worker in workers() if worker != first]
    return [error, refused, again, first != second]


def alone() -> object:
    """The worker's open files, and whether the program has a child that it does not know."""
    os.set_inheritable(os.pipe()[0], True)
    client = started()
    operate(client)
    (worker,) = workers()
    files = [str(file.readlink()) for file in Path(f"/proc/{worker}/fd").iterdir()]
    try:
        os.waitpid(-1, os.WNOHANG)
        children = True
    except ChildProcessError:
        children = False
    return [worker, sorted({name.partition(":")[0] for name in files}), children]


def changed(view: Any, original: Any) -> bool:
    """Whether numbers between those of an output have changed."""
    return bool((view != original).any())


def other_memory() -> object:
    """Columns of the host's pinned memory and of mapped memory: the error, and what was beside."""
    client = Client()
    results = []
    for memory in (pinned(client), mapped(client)):
        values = np.arange(64, dtype="f4")
        ctypes.memmove(memory, encode(values.tolist(), FLOAT), values.nbytes)
        views = [client.acl.view(memory, FLOAT, [16, 2], [4, 1], offset) for offset in (0, 2)]
        client.call("Renorm", views[0], client.scalar(2.0), 0, client.scalar(1.0), views[1])
        found = np.array(decode(ctypes.string_at(memory, values.nbytes), FLOAT)).reshape(16, 4)
        before = values.reshape(16, 4)
        error = float(np.abs(found[:, 2:] - renormed(before[:, :2])).max())
        results.append([error, changed(found[:, :2], before[:, :2])])
    return results


def pinned(client: Client) -> ctypes.c_void_p:
    memory = ctypes.c_void_p()
    client.acl.call("aclrtMallocHost", ctypes.byref(memory), ctypes.c_size_t(PAGE))
    return memory


def mapped(client: Client) -> ctypes.c_void_p:
    size, none = ctypes.c_size_t(PAGE), ctypes.c_uint64(0)
    region, physical = ctypes.c_void_p(), ctypes.c_void_p()
    client.acl.call("aclrtReserveMemAddress", ctypes.byref(region), size, size, None, none)
    client.acl.call("aclrtMallocPhysical", ctypes.byref(physical), size, None, none)
    client.acl.call("aclrtMapMem", region, size, ctypes.c_size_t(0), physical, none)
    return region
