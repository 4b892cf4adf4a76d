# SPDX-License-Identifier: Apache-2.0
"""Changes of a host that ``--fix NAME`` makes, each shown before it is made."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from typing import Callable, NamedTuple

from .check_hccl import RESERVED, port_range
from .machine import Machine
from .numbers import number_list, short_list

_SHM = 16 << 30
_GRACE = 10.0


class Step(NamedTuple):
    """One change: what it does in words, and the function that does it, which raises OSError."""

    what: str
    do: Callable[[], None]


class Fix(NamedTuple):
    """A fix: what it is for, and the function that plans its steps for a host."""

    summary: str
    plan: Callable[[Machine], list[Step]]


def _reserve_ports(machine: Machine) -> list[Step]:
    before = (machine.host.text(RESERVED) or "").strip()
    reserved = number_list(before) if before else []
    first, last = port_range(machine)
    if reserved is None or set(range(first, last + 1)) <= set(reserved):
        return []
    after = short_list([*reserved, *range(first, last + 1)])
    what = "write {} to {} (before: {})".format(after, RESERVED, before or "nothing")
    return [Step(what, lambda: machine.host.write(RESERVED, after))]


def _stop_processes(machine: Machine) -> list[Step]:
    here = {machine.number_here(each): each.name or "unknown" for each in machine.smi.processes}
    # Number 1 is the container itself.
    own = {number: name for number, name in here.items() if number > 1}
    after = f"SIGTERM, and SIGKILL after {_GRACE:g} seconds"
    return [
        Step(f"stop process {pid} ({name}): {after}", partial(stop_process, pid))
        for pid, name in sorted(own.items())
    ]


def stop_process(pid: int, grace: float = _GRACE) -> None:
    """End the process ``pid``; one that does not end within ``grace`` seconds is killed."""
    try:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if _has_ended(pid):
                return
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _has_ended(pid: int) -> bool:
    """Whether only the entry of a process is left, until its parent reads its exit code."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return True


def _enlarge_shm(machine: Machine) -> list[Step]:
    space = machine.host.space("/dev/shm")
    if space is None or space.size >= _SHM:
        return []
    argv = ("mount", "-o", f"remount,size={_SHM}", "/dev/shm")

    def remount() -> None:
        output = machine.host.run(*argv)
        if output.state != "ok":
            raise OSError(1, output.text.strip() or f"mount is {output.state}")

    return [Step("run " + " ".join(argv), remount)]


FIXES: dict[str, Fix] = {
    "reserve-ports": Fix(
        "reserve the ports of HCCL until the next start of the host", _reserve_ports
    ),
    "stop-processes": Fix("stop the processes on cards that run here", _stop_processes),
    "shm": Fix("enlarge /dev/shm to 16 GB", _enlarge_shm),
}
