# SPDX-License-Identifier: Apache-2.0
"""All that the checks read of a host: files below a root, programs, variables and the clock."""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
import time
from typing import Callable, Mapping, NamedTuple, Sequence

_MOST_OUTPUT = 1 << 20
_MOST_TEXT = 1 << 22
_KILLED_AFTER = 0.5


class Output(NamedTuple):
    """What a program printed. ``state`` is ``ok``, ``failed``, ``missing`` or ``hung``."""

    state: str
    text: str


class Status(NamedTuple):
    """Kind (``device``, ``folder`` or ``file``), owner, group and permissions of a file."""

    kind: str
    uid: int
    gid: int
    mode: int


class Space(NamedTuple):
    """The size of a file system and what is free, in bytes."""

    size: int
    free: int


def run_program(argv: Sequence[str], timeout: float, most: int = _MOST_OUTPUT) -> Output:
    """Run ``argv`` for at most ``timeout`` seconds, and as long as its output has ``most`` bytes.

    An interrupt also ends all processes that it has started.
    """
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        return Output("missing", "")
    assert process.stdout
    try:
        said, in_time = _read(process.stdout.fileno(), time.monotonic() + timeout, most)
    except BaseException:
        _kill(process)
        raise
    if in_time:
        try:
            process.wait(timeout=_KILLED_AFTER)
        except subprocess.TimeoutExpired:
            in_time = False
    if not in_time:
        _kill(process)
    process.stdout.close()
    text = said.decode("utf-8", "replace")
    if not in_time:
        return Output("hung", text)
    return Output("failed" if process.returncode else "ok", text)


def _read(number: int, deadline: float, most: int) -> tuple[bytes, bool]:
    """The output until its end or ``deadline``, and whether the end was reached."""
    said = b""
    while len(said) < most:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([number], [], [], left)[0]:
            return said, False
        piece = os.read(number, 65536)
        if not piece:
            return said, True
        said += piece
    return said, False


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=_KILLED_AFTER)
    except (OSError, subprocess.TimeoutExpired):
        # A program that waits for a driver cannot be killed before the driver answers.
        process.returncode = -signal.SIGKILL


def read_status(path: str) -> Status | None:
    """The status of the file ``path``; None if there is none, or it cannot be seen."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    folder = "folder" if stat.S_ISDIR(found.st_mode) else "file"
    kind = "device" if stat.S_ISCHR(found.st_mode) else folder
    return Status(kind, found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode))


def read_space(path: str) -> Space | None:
    """The size of the file system of ``path``; None if it cannot be seen."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return Space(found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail)


class Access(NamedTuple):
    """How a host is asked for what is not in a file; tests have ways of their own."""

    run: Callable[[tuple[str, ...], float], Output] = run_program
    status: Callable[[str], Status | None] = read_status
    space: Callable[[str], Space | None] = read_space
    clock: Callable[[], float] = time.time


REAL = Access()
"""This host."""


class Host:
    """A host, or a container on it.

    Every path is looked up below ``root``. ``unreadable`` collects the paths that exist and may
    not be read.
    """

    def __init__(
        self,
        root: str = "/",
        environment: Mapping[str, str] | None = None,
        access: Access = REAL,
    ) -> None:
        self.root = root
        self.environment: dict[str, str] = dict(os.environ if environment is None else environment)
        self.unreadable: list[str] = []
        self._access = access

    def time(self) -> float:
        """The clock of the host, in seconds since 1970."""
        return self._access.clock()

    def path(self, path: str) -> str:
        """Where ``path`` of the host is."""
        return os.path.join(self.root, path.lstrip("/"))

    def text(self, path: str) -> str | None:
        """The first 4 MB of a file; None if there is none or it may not be read."""
        try:
            with open(self.path(path), "rb") as file:
                return file.read(_MOST_TEXT).decode("utf-8", "replace")
        except PermissionError:
            self.unreadable.append(path)
        except OSError:
            pass
        return None

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted; none if there is none or it may not be read."""
        try:
            return sorted(os.listdir(self.path(path)))
        except PermissionError:
            self.unreadable.append(path)
        except OSError:
            pass
        return []

    def links(self, path: str) -> list[str] | None:
        """What the symbolic links in a folder point to; None if they may not be read."""
        try:
            names = os.listdir(self.path(path))
            return [os.readlink(os.path.join(self.path(path), name)) for name in names]
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        return os.path.exists(self.path(path))

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(self.path(path))

    def status(self, path: str) -> Status | None:
        return self._access.status(self.path(path))

    def space(self, path: str) -> Space | None:
        return self._access.space(self.path(path))

    def run(self, *argv: str, timeout: float = 10) -> Output:
        """Run a program for at most ``timeout`` seconds."""
        return self._access.run(argv, timeout)

    def write(self, path: str, text: str) -> None:
        """Write a file in place, as the kernel's settings below /proc need it.

        Raises:
            OSError: it cannot be written.
        """
        with open(self.path(path), "w", encoding="utf-8") as file:
            file.write(text)
