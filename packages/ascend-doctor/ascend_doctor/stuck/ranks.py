# SPDX-License-Identifier: Apache-2.0
"""Finds the ranks of a training run among the processes of this host, by their environment."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Mapping

from ascend_doctor.problems import FileError, Problem, UsageError

PROC = Path("/proc")

VARIABLES = (
    ("RANK", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("RANK_ID", "DEVICE_ID"),
)
"""The variables with the rank of a process, and with its number on its host.

Sources: pytorch 2.13, torch/distributed/run.py (also set by DeepSpeed's launcher); Open MPI's FAQ
on environment variables; mindspore-ai/mindspore, mindspore/parallel/cluster (msrun).
"""


@dataclass(frozen=True)
class Rank:
    """A process of a run; its rank is None if its environment has none."""

    pid: int
    rank: int | None


@dataclass(frozen=True)
class _Found:
    """A process: its parent, and its values of a pair of VARIABLES; None if unreadable."""

    pid: int
    parent: int
    values: tuple[str, str] | None


def ranks_below(pid: int) -> list[Rank]:
    """The ranks among the process ``pid`` and its descendants, or this process if there are none.

    Of a process in a container they are those of the container, of which not all descend from
    one: programs that ``docker exec`` starts do not.
    """
    parents = processes_here()
    if pid not in parents:
        what = f"there is no process {pid} on this host."
        fix = "Find the launcher of the run with 'ps -ef'."
        raise UsageError(Problem(what=what, fix=fix))
    namespace = _namespace(pid)
    if namespace and namespace != _namespace(os.getpid()):
        family = {each for each in parents if _namespace(each) == namespace}
    else:
        family = _descendants(pid, parents)
    return _ranks({each: parents[each] for each in sorted(family)}) or [Rank(pid=pid, rank=None)]


def ranks_here() -> list[Rank]:
    """The ranks among all processes of this container, or of the host without its containers."""
    own = _namespace(os.getpid())
    parents = {each: up for each, up in processes_here().items() if _namespace(each) == own}
    found = _ranks(parents)
    if not found:
        names = ", ".join(first for first, _ in VARIABLES)
        what = f"no process here has {names} in its environment."
        fix = "Name a process of the run: ascend-doctor stuck PID."
        raise UsageError(Problem(what=what, fix=fix))
    return found


def _namespace(pid: int) -> str:
    """What tells the processes of a container from others; empty if it may not be read."""
    try:
        return os.readlink(str(PROC / str(pid) / "ns" / "pid"))
    except OSError:
        return ""


def _descendants(pid: int, parents: Mapping[int, int]) -> set[int]:
    family = {pid}
    grown = True
    while grown:
        more = {each for each, parent in parents.items() if parent in family} - family
        family |= more
        grown = bool(more)
    return family


def processes_here() -> Mapping[int, int]:
    """Every process of this host that has not ended, and its parent."""
    found = {}
    for folder in PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended
            continue
        # The name of the program, in parentheses, may have spaces and parentheses.
        match = re.fullmatch(r"[0-9]+ \(.*\) [^Z] ([0-9]+) .*", stat.strip(), re.DOTALL)
        if match:
            found[int(folder.name)] = int(match[1])
    return found


def _ranks(parents: Mapping[int, int]) -> list[Rank]:
    environments = {pid: _environment(pid) for pid in parents}
    if environments and all(each is None for each in environments.values()):
        what = "the environment of the processes may not be read, so their ranks are unknown."
        raise FileError(Problem(what=what, fix="Run it as root or as the user of the run."))
    for names in VARIABLES:
        rows = [
            _Found(pid=pid, parent=parents[pid], values=_values(environment or {}, names))
            for pid, environment in environments.items()
        ]
        # A launcher may have the rank of its node; only its children have a local rank.
        for needed in (1, 0):
            found = _outermost([each for each in rows if each.values and each.values[needed]])
            if found:
                return sorted(found, key=lambda each: (each.rank is None, each.rank, each.pid))
    return []


def _outermost(rows: Iterable[_Found]) -> list[Rank]:
    """The processes whose parent has other values: its children inherit them, as data loaders."""
    known = {each.pid: each.values for each in rows}
    return [
        Rank(pid=each.pid, rank=_number(each.values))
        for each in rows
        if known.get(each.parent) != each.values
    ]


def _number(values: tuple[str, str] | None) -> int | None:
    first = next((each for each in values or () if each), "")
    return int(first) if first.isascii() and first.isdigit() and len(first) < 10 else None


def _values(environment: Mapping[str, str], names: tuple[str, str]) -> tuple[str, str] | None:
    found = (environment.get(names[0], ""), environment.get(names[1], ""))
    return found if any(found) else None


def _environment(pid: int) -> dict[str, str] | None:
    """The environment of a process; None if it may not be read or has ended."""
    try:
        text = os.fsdecode((PROC / str(pid) / "environ").read_bytes())
    except OSError:
        return None
    pairs = (each.partition("=") for each in text.split("\0"))
    return {name: value for name, _, value in pairs}
