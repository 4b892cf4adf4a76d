# SPDX-License-Identifier: Apache-2.0
"""Downloads a file into the store's folder of unfinished downloads, and goes on where it broke.

Shows how far downloads are: redrawn on a terminal, else one line for each file at its end.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from rich import progress
from rich.console import Console
from rich.progress import Progress

from cannery.common import console
from cannery.common.bases import Address
from cannery.common.errors import FileError, Problem, enumerated, file_error
from cannery.common.files import read_text, write_files
from cannery.common.http import LONGEST_WAIT, RetryPolicy, RetryState
from cannery.common.process import Stopped
from cannery.fetch.http import Answer, Client, TransferError
from cannery.fetch.store import notes_of

_CHUNK = 1 << 18
_MOST = 1 << 36
"""The most bytes of a file whose size is not known: 64 GiB."""

_SLOWEST = 512.0
"""Bytes a second below which a connection is given up, on average over the last ``window``."""


@dataclass(kw_only=True)
class Transfer:
    """Downloads one file into ``partial``. ``sizes`` are those that it may have, if they are known.

    ``is_pinned`` says that a hash will tell whether the bytes are right, so that what one server
    has begun another one may finish. ``arrived`` is called with the numbers of bytes that are
    there and that are expected.
    """

    client: Client
    partial: Path
    sizes: tuple[int, ...]
    is_pinned: bool
    retries: RetryPolicy
    stop: Event
    window: float = 60.0
    arrived: Callable[[int, int], None] = lambda _there, _all: None
    is_mixed: bool = field(default=False, init=False)
    """Whether the bytes are from several answers, so that a wrong hash may be of the mixture."""

    def run(self, address: Address) -> None:
        """Download the file from ``address``.

        Raises:
            TransferError: the server does not deliver it.
            FileError: the disk is full, or the file cannot be written.
        """
        self._discard_links()
        tries = RetryState(self.retries)
        while True:
            before = self._there
            try:
                self._once(address)
                return
            except TransferError as error:
                if error.again_from_start:
                    self.discard()
                pause = tries.pause(asked=error.after, progress=self._there > before)
                if error.after > LONGEST_WAIT:
                    why = f"{error}, and asks to wait for {error.after:.0f} s"
                    raise TransferError(why, final=True) from error
                if error.final or pause is None:
                    times = f", {tries.count} times" if tries.count > 1 else ""
                    raise TransferError(f"{error}{times}", final=True) from error
            except OSError as error:
                raise disk_error(self.partial, error) from error
            if self.stop.wait(pause):
                raise Stopped

    def _discard_links(self) -> None:
        """Remove what another user has put there to have the bytes written elsewhere."""
        try:
            state = self.partial.lstat()
            if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
                self.discard()
        except FileNotFoundError:
            return
        except OSError as error:
            raise disk_error(self.partial, error) from error

    @property
    def _there(self) -> int:
        try:
            return self.partial.stat().st_size
        except FileNotFoundError:
            return 0

    def discard(self) -> None:
        """Remove what has arrived."""
        self.partial.unlink(missing_ok=True)
        notes_of(self.partial).unlink(missing_ok=True)

    def _once(self, address: Address) -> None:
        url, validator = "", ""
        with suppress(FileNotFoundError, FileError, ValueError, TypeError, KeyError):
            notes = json.loads(read_text(notes_of(self.partial)))
            url, validator = str(notes["url"]), str(notes["validator"])
        is_same = url == address.url and validator
        if self._there and not (is_same or self.is_pinned):
            self.discard()
        with self.client.get(address, self._there, validator if is_same else "") as answer:
            why = ""
            if self.sizes and answer.total and answer.total not in self.sizes:
                known = enumerated([f"{size:,}" for size in self.sizes])
                why = f"its file has {answer.total:,} bytes, but {known} were published"
            elif not (self.is_pinned or answer.total):
                # Where the connection ends early, nothing would tell.
                why = "it does not say how long the file is"
            elif answer.total > _MOST:
                why = f"its file has {answer.total:,} bytes"
            if why:
                raise TransferError(why, final=True)
            if not answer.offset:
                self.discard()
            self.is_mixed = self.is_mixed or answer.offset > 0
            text = json.dumps({"url": address.url, "validator": answer.validator})
            place = notes_of(self.partial)
            write_files({place: text + "\n"}, root=place.parent)
            if answer.total - answer.offset > shutil.disk_usage(self.partial.parent).free:
                raise OSError(errno.ENOSPC, "no space left on device")
            if answer.offset < (answer.total or _MOST):
                self._write(answer)

    def _write(self, answer: Answer) -> None:
        there, begun, first = answer.offset, time.monotonic(), answer.offset
        most = answer.total or max(self.sizes, default=_MOST)
        with open(self.partial, "ab", opener=_no_link) as stream:
            for chunk in answer.chunks(_CHUNK):
                if self.stop.is_set():
                    raise Stopped
                there += len(chunk)
                if there > most:
                    why = f"it sends more than {most:,} bytes"
                    raise TransferError(why, again_from_start=True)
                stream.write(chunk)
                self.arrived(there, answer.total)
                took = time.monotonic() - begun
                if took > self.window:
                    if (there - first) / took < _SLOWEST:
                        raise TransferError("it sends almost nothing")
                    begun, first = time.monotonic(), there
        if answer.total and there < answer.total:
            raise TransferError(f"it sends {there:,} of {answer.total:,} bytes")


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def disk_error(path: Path, error: OSError) -> FileError:
    """The error for an ``OSError`` met while ``path`` was written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        what = f"cannot write {path}: the disk is full."
        fix = "Free space, for example with 'build.py fetch --prune 30', then retry: it continues."
        return FileError(Problem(what=what, fix=fix))
    return file_error("write", path, error)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """The bars of several files, shown on a terminal only; other output goes above them."""
    is_shown = sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    terminal = Console(stderr=True, highlight=False)
    bars = Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=20),
        progress.DownloadColumn(binary_units=False),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
        console=terminal,
        redirect_stdout=False,
        redirect_stderr=False,
        transient=True,
        disable=not is_shown,
    )

    def write(text: str) -> None:
        terminal.print(text, end="", markup=False, soft_wrap=True)

    with bars, console.written_by(write) if is_shown else nullcontext():
        yield bars
