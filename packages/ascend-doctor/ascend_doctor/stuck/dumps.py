# SPDX-License-Identifier: Apache-2.0
"""Reads what ``py-spy dump`` prints, as text or JSON, and what ``stuck --json`` does."""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, Sequence

from ascend_doctor.problems import FileError, Problem
from ascend_doctor.untrusted import parse_json

from .model import Frame, Process, Thread

SCHEMA = 1
"""The version of the document of ``ascend-doctor stuck --json``."""

_LONGEST = 500
"""The longest name that is kept; names of C++ symbols can have thousands of characters."""

_RANK = re.compile(r"rank[-_.]?([0-9]{1,6})", re.IGNORECASE)
_PROCESS = re.compile(r"Process ([0-9]{1,10}): ")
_THREAD = re.compile(r'Thread (0x[0-9A-Fa-f]+|[0-9]+)(?: \([\w+ ]+\))?(?:: "(.*)")?')
_FRAME = re.compile(r"    (\S.*?)(?: \(([^()]*?)(?::([0-9]{1,9}))?\))?")
_MAIN = "MainThread"
_MANGLED = (TypeError, KeyError, IndexError, AttributeError, OverflowError)
"""What reading a document of another form can raise, besides ValueError."""
_FIX = "Make it with 'py-spy dump --pid PID --json', or with 'ascend-doctor stuck PID --json'."


def parse_dump(text: str, name: str) -> list[Process]:
    """The processes in the dump ``text``, which was read from the file ``name``.

    The rank of a process is in the document of ``stuck --json``, or in the file's name, as in
    rank3.json.
    """
    rank = next((int(each) for each in _RANK.findall(name.rpartition("/")[2])), None)
    if text.lstrip()[:1] not in ("[", "{"):
        return _parse_text(text, name, rank)
    try:
        document = parse_json(text)
        if isinstance(document, dict):
            return [_own(each, name) for each in _checked(document)]
        return [parse_threads(document, rank, name)]
    except json.JSONDecodeError as error:
        raise _wrong(f"{name}:{error.lineno}: this is not JSON, or it ends too early.") from error
    except (ValueError, *_MANGLED) as error:
        raise _wrong(f"{name}: this JSON is not a dump of py-spy.") from error


def parse_threads(
    threads: Sequence[Mapping[str, Any]], rank: int | None, name: str = ""
) -> Process:
    """The process whose threads ``py-spy dump --json`` has printed.

    Raises:
        ValueError: this is something else.
    """
    try:
        return _process(threads, rank, name)
    except _MANGLED as error:
        raise ValueError(name) from error


def _process(threads: Sequence[Mapping[str, Any]], rank: int | None, name: str) -> Process:
    pid = int(threads[0]["pid"]) if threads else 0
    found = [
        Thread(
            name=str(each["thread_name"] or "")[:_LONGEST],
            is_main=each["os_thread_id"] == pid or each["thread_name"] == _MAIN,
            frames=tuple(_frame(frame) for frame in each["frames"]),
        )
        for each in threads
    ]
    if not found:
        raise ValueError(name)
    return Process(pid=pid, rank=rank, threads=tuple(found), source=name)


def _frame(found: Mapping[str, Any]) -> Frame:
    # The short name of a file that is not in a package is its last part only.
    short, full = str(found["short_filename"] or ""), str(found["filename"] or "")
    file = short if "/" in short else full or short
    return _made(str(found["name"]), file, int(found["line"] or 0))


def _made(function: str, file: str, line: int) -> Frame:
    # A function without a symbol has an address, which differs between equal processes.
    name = "?" if function.startswith("0x") else function[:_LONGEST]
    return Frame(name, file[-_LONGEST:], line)


def _checked(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if document["schema"] != SCHEMA or not document["processes"]:
        raise ValueError(document["schema"])
    return list(document["processes"])


def _own(found: Mapping[str, Any], name: str) -> Process:
    threads = tuple(
        Thread(
            name=str(each["name"]),
            is_main=each["main"] is True,
            frames=tuple(
                _made(str(frame["function"]), str(frame["file"]), int(frame["line"]))
                for frame in each["frames"]
            ),
        )
        for each in found["threads"]
    )
    if not threads:
        raise ValueError(name)
    rank, moved = found["rank"], found["moved"]
    return Process(
        pid=int(found["pid"]),
        rank=None if rank is None else int(rank),
        threads=threads,
        moved=None if moved is None else bool(moved),
        in_kernel=found["in_kernel"] is True,
        source=name,
    )


def _parse_text(text: str, name: str, rank: int | None) -> list[Process]:
    pids: list[int] = []
    threads: list[list[tuple[str, bool, list[Frame]]]] = []
    for line in text.splitlines():
        process, thread, frame = (
            pattern(line) for pattern in (_PROCESS.match, _THREAD.match, _FRAME.fullmatch)
        )
        if process:
            pids.append(int(process[1]))
            threads.append([])
        elif threads and thread:
            title = thread[2] or ""
            is_main = title == _MAIN or thread[1] == str(pids[-1])
            threads[-1].append((title, is_main, []))
        elif threads and threads[-1] and frame:
            threads[-1][-1][2].append(_made(frame[1], frame[2] or "", int(frame[3] or 0)))
    if not threads or not all(threads):
        raise _wrong(f"{name}: this is not a dump of py-spy, or it has no threads.")
    own = rank if len(pids) == 1 else None
    return [
        Process(
            pid=pid,
            rank=own,
            threads=tuple(
                Thread(name=title, is_main=is_main, frames=tuple(frames))
                for title, is_main, frames in each
            ),
            source=name,
        )
        for pid, each in zip(pids, threads)
    ]


def _wrong(what: str) -> FileError:
    return FileError(Problem(what=what, fix=_FIX))
