# SPDX-License-Identifier: Apache-2.0
"""Marks temporary folders and containers, so that a later run can remove those of a killed run."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MAKING = ".making-"
"""The beginning of the names of temporary folders."""


def own_mark() -> str:
    """A unique mark of this process: where its id is valid, the id and its start time."""
    return f"{_place()}:{os.getpid()}:{_started(os.getpid())}"


def _place() -> str:
    """The machine and its namespace of process ids.

    A container with the machine's network has its name, too, and sees other processes.
    """
    try:
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}-{namespace}"


def is_gone(mark: str) -> bool:
    """Whether ``mark`` belongs to a process that would be seen here, and has ended."""
    host, _, rest = mark.rpartition(":")[0].rpartition(":")
    started = mark.rpartition(":")[2]
    if host != _place() or not rest.isdigit() or not started:
        return False
    return _started(int(rest)) != started


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A temporary folder in ``parent``, where those of runs that were killed are removed.

    Raises:
        OSError: it cannot be made.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for path in parent.glob(f"{_MAKING}*"):
        if is_gone(path.name.removeprefix(_MAKING).rpartition(":")[0]):
            shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_MAKING}{own_mark()}:", dir=parent) as name:
        yield Path(name)


def temporary_beside(path: Path) -> Path:
    """A hidden path beside ``path``, for what is to replace it; those of killed runs are removed.

    Raises:
        OSError: one of them cannot be removed.
    """
    prefix = f".{path.name}."
    for each in path.parent.iterdir():
        if each.name.startswith(prefix) and is_gone(each.name.removeprefix(prefix)):
            each.unlink(missing_ok=True)
    return path.with_name(prefix + own_mark())


def _started(process: int) -> str:
    """The start time of ``process`` in the kernel's unit; empty if it has ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name of the program may contain spaces and brackets; the time is the 20th field after it.
    return text.rpartition(")")[2].split()[19]
