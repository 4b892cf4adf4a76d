# SPDX-License-Identifier: Apache-2.0
"""Names that one run at a time may use on this machine: a target that it builds, its journal.

A claim is a lock of the kernel on a file, which ends with its process, however that ends. So the
claim of a killed run needs no removal.
"""

from __future__ import annotations

import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from cannery.common.clock import now
from cannery.common.errors import file_error

_LONGEST = 200
_SOMEBODY = "another process"


class Claims:
    """The claims of this run; all of them end with the block. The files are in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[Path, int] = {}

    def take(self, name: str) -> str:
        """Claim ``name``. Returns the process that has it already, or "" if it is ours now.

        Raises:
            FileError: the file of the claim cannot be made.
        """
        path = self._path(name)
        try:
            while True:
                self._folder.mkdir(parents=True, exist_ok=True)
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
                if not _locked(handle):
                    return _said(handle)
                # Its last owner may have removed the file after it was opened here.
                if _is_at(handle, path):
                    break
                os.close(handle)
            self._held[path] = handle
            text = f"process {os.getpid()} on {socket.gethostname()}, since {now()}\n"
            os.ftruncate(handle, 0)
            os.pwrite(handle, text.encode(), 0)
        except OSError as error:
            raise file_error("write", path, error) from error
        return ""

    def holder(self, name: str) -> str:
        """The other process that has ``name``, or "". Nothing is claimed or written."""
        path = self._path(name)
        if path in self._held:
            return ""
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            return ""
        if not _locked(handle):
            return _said(handle)
        os.close(handle)
        return ""

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.claim"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for path, handle in self._held.items():
            with suppress(OSError):
                path.unlink()
            os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _said(handle: int) -> str:
    """What the owner has written into the file; ``handle`` is closed."""
    try:
        return os.pread(handle, _LONGEST, 0).decode(errors="replace").strip() or _SOMEBODY
    finally:
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
