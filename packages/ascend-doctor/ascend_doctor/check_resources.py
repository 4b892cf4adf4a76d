# SPDX-License-Identifier: Apache-2.0
"""Memory, shared memory, limits, core dumps, CPUs and NUMA nodes."""

from __future__ import annotations

import os.path
import re
from typing import Iterator

from .machine import Machine
from .npu_smi import read_topology
from .numbers import amount, number_set, short_list
from .table import Found, found

_DOCKER_SHM = 64 << 20
_SHM_OF_A_CARD = 1 << 30
_FULL = 90
_LOW = 0.05
_FEW_FILES = 1024


def check_memory(machine: Machine) -> Iterator[Found]:
    """Shared memory and memory."""
    space = machine.host.space("/dev/shm")
    cards = len(machine.cards)
    if space and space.size:
        size = amount(space.size)
        if space.size <= _DOCKER_SHM and machine.in_container:
            yield found("shm-default", size=size)
        elif space.size < cards * _SHM_OF_A_CARD:
            yield found("shm-small", size=size, cards=cards)
        percent = 100 - 100 * space.free // space.size
        if percent >= _FULL:
            yield found("shm-full", percent=percent)
    text = machine.host.text("/proc/meminfo") or ""
    kilobytes = {n: int(v) for n, v in re.findall(r"(?m)^(\w+):\s+(\d{1,15})", text)}
    total, free = kilobytes.get("MemTotal", 0), kilobytes.get("MemAvailable")
    if free is not None and free < _LOW * total:
        yield found("memory-low", free=amount(free << 10), total=amount(total << 10))


def check_limits(machine: Machine) -> Iterator[Found]:
    """Limits of a process, and where core dumps go."""
    if not machine.cards:
        return
    files = machine.limit("Max open files")
    if files is not None and files <= _FEW_FILES:
        yield found("open-files", limit=int(files))
    if machine.limit("Max core file size") == 0:
        yield found("core-off")
        return
    pattern = (machine.host.text("/proc/sys/kernel/core_pattern") or "").strip()
    if pattern.startswith("/"):
        folder = os.path.dirname(pattern)
        if "%" not in folder and not machine.host.is_folder(folder):
            yield found("core-folder", folder=folder)
    elif pattern and not pattern.startswith("|"):
        yield found("core-relative", pattern=pattern)


def check_processors(machine: Machine) -> Iterator[Found]:
    """The CPUs and NUMA nodes that this process may use."""
    if not machine.cards:
        return
    allowed = number_set(machine.process_status.get("Cpus_allowed_list", ""))
    if allowed and len(allowed) < len(machine.cards):
        yield found("cpu-few", cpus=len(allowed), cards=len(machine.cards))
    if allowed:
        for card, near in sorted(_near_cards(machine).items()):
            if not number_set(near) & allowed:
                yield found("cpu-far", card=card, near=near, cpus=short_list(list(allowed)))
    nodes = number_set((machine.host.text("/sys/devices/system/node/online") or "").strip())
    memory = number_set(machine.process_status.get("Mems_allowed_list", ""))
    if memory and nodes - memory:
        allowed_nodes, all_nodes = short_list(list(memory)), short_list(list(nodes))
        yield found("numa-memory", allowed=allowed_nodes, nodes=all_nodes)


def _near_cards(machine: Machine) -> dict[int, str]:
    """Card to the CPUs near it. npu-smi is asked only if it has answered before."""
    if machine.smi_output.state != "ok" or not machine.smi.chips:
        return {}
    output = machine.host.run("npu-smi", "info", "-t", "topo")
    return read_topology(output.text) if output.state == "ok" else {}
