# SPDX-License-Identifier: Apache-2.0
"""Takes the stacks of processes with py-spy."""

from __future__ import annotations

import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Sequence

from ascend_doctor.host import Output, run_program
from ascend_doctor.problems import FileError, Problem
from ascend_doctor.untrusted import parse_json

from .dumps import parse_threads
from .model import Missing, Process
from .ranks import PROC, Rank, processes_here

_AT_ONCE = 8
"""The number of processes that are sampled at the same time; each takes a moment of one core."""

_MOST = 1 << 26
"""Bytes of the largest dump."""

# Source: what py-spy 0.4.3 printed, here as another user and without CAP_SYS_PTRACE.
_REFUSED = ("Permission Denied", "Operation not permitted", "EPERM", "os error 1)", "os error 13)")
_NO_PYTHON = ("Failed to find python version", "Failed to get process executable", "not a python")


def find_py_spy() -> str:
    """The path of the program: the one on PATH, which may have capabilities, or this Python's."""
    own = str(Path(sys.executable).parent)
    found = shutil.which("py-spy") or shutil.which("py-spy", path=own)
    if not found:
        fix = (
            "Install it with 'pip install py-spy', or read saved dumps with --dump. On the host it "
        )
        fix += "reads the processes of containers, too."
        raise FileError(Problem(what="py-spy is not installed.", fix=fix))
    return found


def sample(
    ranks: Sequence[Rank], *, native: bool, seconds: float, interval: float
) -> tuple[list[Process], list[Missing]]:
    """The stacks of ``ranks``, and those that could not be sampled.

    Each py-spy is stopped after ``seconds``, and tried again without stopping the process. There
    is a second sample after ``interval`` seconds, unless it is 0, which tells what moves.
    """
    program = find_py_spy()
    first = _round(program, ranks, native=native, seconds=seconds)
    found = [each for each in first if isinstance(each, Process)]
    missing = [each for each in first if isinstance(each, Missing)]
    if not found:
        problems = dict.fromkeys(f"process {each.pid}: {each.why}" for each in missing)
        raise FileError([Problem(what=each) for each in problems])
    if interval:
        time.sleep(interval)
        again = [Rank(pid=each.pid, rank=each.rank) for each in found]
        second = {each.pid: each for each in _round(program, again, native=native, seconds=seconds)}
        found = [_moved(each, second[each.pid]) for each in found]
    return found, missing


def _moved(before: Process, after: Process | Missing) -> Process:
    if isinstance(after, Missing):  # it ended, or py-spy failed this time
        return before
    return replace(before, moved=before.main.frames != after.main.frames)


def _round(
    program: str, ranks: Sequence[Rank], *, native: bool, seconds: float
) -> list[Process | Missing]:
    def one(rank: Rank) -> Process | Missing:
        return _dump(program, rank, native=native, seconds=seconds)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [*pool.map(one, ranks)]


def _dump(program: str, rank: Rank, *, native: bool, seconds: float) -> Process | Missing:
    argv = [program, "dump", "--pid", str(rank.pid), "--json"]
    output = run_program([*argv, *(["--native"] if native else [])], seconds, _MOST)
    in_kernel = output.state == "hung"
    if in_kernel:
        # A process in state D, as in a call of a driver, cannot be stopped, but can be read.
        output = run_program([*argv, "--nonblocking"], seconds, _MOST)
    return _read(rank, output, seconds, in_kernel=in_kernel)


def _read(rank: Rank, output: Output, seconds: float, *, in_kernel: bool) -> Process | Missing:
    said = output.text
    if output.state == "ok":
        try:
            # Warnings of py-spy come before the document.
            found = parse_threads(parse_json(said[said.index("[") :]), rank.rank)
            return replace(found, in_kernel=in_kernel)
        except ValueError:
            why = "py-spy printed something that is not a dump."
    elif output.state == "hung":
        why = f"py-spy did not answer within {seconds:g} s and was stopped. Try --timeout."
    else:
        why = _why(rank.pid, said)
    return Missing(pid=rank.pid, rank=rank.rank, why=why)


def _why(pid: int, said: str) -> str:
    """Why py-spy failed for the process ``pid``, in words."""
    if pid not in processes_here():
        return "the process ended before it was sampled."
    if any(word in said for word in _REFUSED):
        return f"reading its memory (ptrace) was refused. {_permission()}"
    try:
        program = os.path.basename(os.readlink(str(PROC / str(pid) / "exe")))
    except OSError:
        program = ""
    if program.startswith("qemu-"):
        return f"it runs under emulation ({program}), where py-spy sees no Python."
    if any(word in said for word in _NO_PYTHON):
        own = f" ({program})" if program else ""
        return f"it is not a Python process{own}. Name the launcher of the run or one of its ranks."
    lines = [line for line in said.splitlines() if line.strip()]
    return f"py-spy failed: {lines[0] if lines else 'it said nothing'}"


def _permission() -> str:
    """What to do where ptrace is refused, by what refuses it here."""
    save = "Or let somebody who may save dumps: py-spy dump --pid PID --json >rank0.json; then "
    save += "ascend-doctor stuck --dump rank*.json."
    if os.geteuid():
        scope = _text(PROC / "sys/kernel/yama/ptrace_scope")
        yama = f" (kernel.yama.ptrace_scope is {scope})" if scope not in ("", "0") else ""
        return f"Run it as root: sudo ascend-doctor stuck ...{yama}. {save}"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return (
            "In a container root may not do it either: run 'ascend-doctor stuck PID' on the host, "
            "with the PID that docker inspect -f '{{.State.Pid}}' NAME prints, or start the "
            f"container with --cap-add SYS_PTRACE. {save}"
        )
    return f"The process is protected, or SELinux or kernel.yama.ptrace_scope=3 forbids it. {save}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
