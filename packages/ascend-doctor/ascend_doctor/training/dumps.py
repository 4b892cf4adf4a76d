# SPDX-License-Identifier: Apache-2.0
"""Finds and reads the dumps of msprobe: ``stepN/rankM/dump.json`` with its companions.

Source: mindstudio-probe 8.3.0, docs/05.data_dump_PyTorch.md, and core/dump/service.py of 26.2.0.
Without torch.distributed the folder is called ``rank`` or ``procPID``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from ascend_doctor.problems import FileError, Problem, file_error

from .json_members import JsonMembers
from .operators import Operator, operator_of
from .trace import Trace, trace

DUMP = "dump.json"
_DATA = "data"
_TENSORS = "dump_tensor_data"
"""The folder with the tensors themselves, which may be millions."""
_STEP = re.compile(r"step([0-9]{1,9})")
_RANK = re.compile(r"rank([0-9]{0,9})|proc[0-9]+")


@dataclass(frozen=True, order=True)
class Dump:
    """The dump of one rank in one step; both are 0 where no folder names them."""

    step: int
    rank: int
    path: Path


@dataclass(frozen=True)
class Traced:
    """A dump with what was found in it; ``problem`` says why reading ended early."""

    dump: Dump
    trace: Trace
    problem: str = ""


def find_dumps(path: Path) -> list[Dump]:
    """The dump at ``path``, or those below it, by step and rank."""
    if not path.is_dir():
        return [_named(path)]
    found = []

    def refuse(error: OSError) -> None:
        raise file_error("read", Path(error.filename or path), error) from error

    for folder, folders, files in os.walk(path, onerror=refuse):
        folders[:] = [name for name in folders if name != _TENSORS]
        if DUMP in files:
            found.append(_named(Path(folder) / DUMP))
    if not found:
        what = f"{path} has no {DUMP}."
        fix = "msprobe writes stepN/rankM/dump.json when PrecisionDebugger.stop() is called."
        raise FileError(Problem(what=what, fix=fix))
    return sorted(found)


def _named(path: Path) -> Dump:
    """The dump at ``path``, whose step and rank are in the names of its folders."""
    numbers = {"step": 0, "rank": 0}
    for kind, pattern in (("step", _STEP), ("rank", _RANK)):
        for name in path.parts[-4:-1]:
            match = pattern.fullmatch(name)
            if match:
                numbers[kind] = int(match[1] or 0)
    return Dump(path=path, **numbers)


def read_dump(dump: Dump) -> Traced:
    """Follow inf and NaN through the operators of ``dump``.

    Raises:
        FileError: it cannot be read.
        FileError: it has no operator, or none with statistics.
    """
    path = dump.path
    try:
        if not path.is_file() and path.exists():
            raise FileError(f"{path} is neither a regular file nor a folder.")
        with path.open(encoding="utf-8-sig", errors="replace") as text:
            members = JsonMembers(text, _DATA)
            found = trace(_operators(members))
    except OSError as error:
        raise file_error("read", path, error) from error
    if not found.operators:
        what = f"{path} has no operators" + (f": {members.problem}." if members.problem else ".")
        fix = "Name the dump.json of msprobe, written by PrecisionDebugger.stop()."
        raise FileError(Problem(what=what, fix=fix))
    if not found.statistics:
        what = f"{path} has no tensor with Max and Min."
        fix = 'Dump with task "statistics" and summary_mode "statistics" in the config of msprobe.'
        raise FileError(Problem(what=what, fix=fix))
    return Traced(dump=dump, trace=found, problem=members.problem)


def _operators(members: JsonMembers) -> Iterator[Operator]:
    for name, data in members:
        operator = operator_of(name, data)
        if operator:
            yield operator


def modules_around(dump: Dump, names: set[str]) -> dict[str, tuple[str, ...]]:
    """Each of ``names`` with the modules that it is in, innermost first, by construct.json.

    Without that file, as for a dump of APIs only, there is none.
    """
    parents: dict[str, str] = {}
    for name, value in _companion(dump, "construct.json"):
        # In a pipeline the parent stands in a list with its place.
        parent = value[0] if isinstance(value, list) and value else value
        if isinstance(parent, str):
            parents[name] = parent
    found = {}
    for name in names:
        chain: dict[str, None] = {}
        parent = parents.get(name)
        while parent and parent not in chain:
            chain[parent] = None
            parent = parents.get(parent)
        found[name] = tuple(chain)
    return found


def call_stack(dump: Dump, name: str) -> tuple[str, ...]:
    """The lines of the program from which ``name`` was called, by stack.json."""
    for key, value in _companion(dump, "stack.json"):
        names, lines = value if isinstance(value, list) and len(value) == 2 else ([key], value)
        if isinstance(names, list) and name in names and isinstance(lines, list):
            return tuple(" ".join(line.split()) for line in lines if isinstance(line, str))
    return ()


def _companion(dump: Dump, file: str) -> Iterator[tuple[str, object]]:
    """The members of a file beside the dump, as far as it can be read."""
    path = dump.path.with_name(file)
    try:
        if path.is_file():
            with path.open(encoding="utf-8-sig", errors="replace") as text:
                yield from JsonMembers(text)
    except OSError:
        return
