# SPDX-License-Identifier: Apache-2.0
"""Training runs of small processes, whose ranks stand in functions with the names of real ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ALL_REDUCE = "torch.distributed.distributed_c10d:all_reduce"
LOADER = "torch.utils.data.dataloader:_try_get_data"
COMPILE = "torch._inductor.async_compile:wait"
SYNCHRONIZE = "torch_npu.npu.utils:synchronize"
WORK = "train_loop:work"
IN_KERNEL = "driver:call"

_WAIT = """import time

def {function}():
    # One line, so that the rank does not move once it is ready.
    print("ready", flush=True), time.sleep(600)
"""
_WORK = """import random, time

def work():
    print("ready", flush=True)
    while True:
        go_down(random.randrange(200))

def go_down(depth):
    # Each depth has a stack of its own, so that two samples hardly find the same one.
    if depth:
        go_down(depth - 1)
    else:
        time.sleep(0.02)
"""
_DRIVER = """import ctypes, time

def call():
    # The parent of a vfork waits in state D until its child ends, as in a call of a driver.
    if not (print("ready", flush=True), ctypes.PyDLL(None).vfork())[1]:
        time.sleep(600)
"""
_TRAIN = """import importlib, os, subprocess, sys

def step(place):
    module, _, function = place.partition(":")
    if "dataloader" in module:  # a worker has the environment of its rank
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    getattr(importlib.import_module(module), function)()

step(sys.argv[1])
"""
_LAUNCH = """import os, subprocess, sys

ranks = [
    subprocess.Popen(
        [sys.executable, "train.py", place],
        env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)},
    )
    for rank, place in enumerate(sys.argv[1:])
]
print("ranks", *(each.pid for each in ranks), flush=True)
for each in ranks:
    each.wait()
"""


APART = ("unshare", "--pid", "--fork", "--mount-proc")


def _outside(launcher: int, ranks: int) -> list[str]:
    """The PIDs that the ranks below ``unshare`` have here."""
    python, *_ = _children(launcher)
    return _children(python)[:ranks]


def _children(pid: object) -> list[str]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return text.split()


@dataclass(frozen=True)
class Run:
    """The launcher of a run, and the ranks by their number."""

    launcher: int
    ranks: tuple[int, ...]


@contextmanager
def training_run(folder: Path, places: Sequence[str], *, apart: bool = False) -> Iterator[Run]:
    """A run whose ranks stand in ``places``, each as MODULE:FUNCTION. Its processes end with it.

    With ``apart`` it is in a PID namespace of its own, as in a container.
    """
    for place in (ALL_REDUCE, LOADER, COMPILE, SYNCHRONIZE):
        module, _, function = place.partition(":")
        path = folder.joinpath(*module.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_WAIT.format(function=function), encoding="utf-8")
        for parent in path.parents[: module.count(".")]:
            (parent / "__init__.py").touch()
    programs = {"train_loop": _WORK, "driver": _DRIVER, "train": _TRAIN, "launch": _LAUNCH}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        [*(APART if apart else ()), sys.executable, "launch.py", *places],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout
        said = [process.stdout.readline() for _ in range(len(places) + 1)]
        [pids] = [line.split()[1:] for line in said if line.startswith("ranks")]
        if apart:
            pids = _outside(process.pid, len(places))
        yield Run(process.pid, tuple(map(int, pids)))
    finally:
        subprocess.run(["kill", "-9", "--", f"-{process.pid}"], check=False)
        process.communicate()
