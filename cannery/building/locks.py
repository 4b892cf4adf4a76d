# SPDX-License-Identifier: Apache-2.0
"""Locks of targets, so that two runs in one checkout do not build the same target."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cannery.common.errors import BusyError, FileError, Problem, file_error
from cannery.common.files import now, read_text


@contextmanager
def locked(files: Mapping[str, Path]) -> Iterator[dict[str, BusyError]]:
    """Lock targets, which ``files`` maps to lock files; yields the errors of those in use.

    The kernel releases a lock when its process ends, also after ``kill -9``.
    """
    # Imported here, because only builds lock, and the import takes 0.08 s of CPU.
    from filelock import FileLock, Timeout

    busy = {}
    with ExitStack() as locks:
        for target, path in files.items():
            # A lock file that must stay is never replaced by a lock that survives its process.
            lock = FileLock(
                path, blocking=False, preserve_lock_file=True, on_acquired=_write_process
            )
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                locks.enter_context(lock)
            except Timeout:
                what = f"another run builds this target: {_process(path)} has locked {path}."
                fix = "Wait until it has ended, or stop it."
                busy[target] = BusyError(Problem(what=what, fix=fix))
            except OSError as error:
                raise file_error("write", path, error) from error
        yield busy


def _write_process(handle: int) -> None:
    text = f"process {os.getpid()} on {socket.gethostname()} (since {now()})\n"
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)


def _process(path: Path) -> str:
    try:
        return read_text(path).strip() or "another process"
    except (FileNotFoundError, FileError):
        return "another process"
