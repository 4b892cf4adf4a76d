# SPDX-License-Identifier: Apache-2.0
"""Runs programs so that an interrupt stops all that they started."""

from __future__ import annotations

import codecs
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cannery.errors import EngineError, file_error

_running: set[subprocess.Popen[str]] = set()
_stopping: list[bool] = []
"""Has something in it while any thread is stopping them all."""

_SECONDS = 0.2
"""After which a signal is noticed at the latest."""


class Stopped(BaseException):
    """The run is being stopped, and so was a program of it; what it said means nothing."""


@contextmanager
def stopping() -> Iterator[None]:
    """Stop every program that runs in any thread, and start none until the block ends.

    An interrupt reaches the main thread only; without this, what other threads have started would
    go on.
    """
    _stopping.append(True)
    try:
        for process in [*_running]:
            if process.poll() is None:
                _stop(process)
        yield
    finally:
        _stopping.pop()


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    capture: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Run ``argv``; return its exit code and, with ``capture``, its output (both streams).

    ``env`` adds to the environment. Without ``capture`` the output goes to this process's stderr,
    because stdout is for data.

    Raises:
        EngineError: the program is not installed.
        KeyboardInterrupt: after the program and its children have been stopped.
        Stopped: the same, in a thread that is not the main one.
    """
    with _started(argv, cwd=cwd, env=env, pipe=capture) as process:
        output, _ = process.communicate()
    return process.returncode, output or ""


@contextmanager
def _started(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    pipe: bool,
) -> Iterator[subprocess.Popen[str]]:
    """A running program, which the block waits for."""
    with _start(argv, cwd=cwd, env=env, pipe=pipe) as process:
        try:
            yield process
        except BaseException:
            _stop(process)
            raise
        finally:
            _running.discard(process)
    if _stopping:
        raise Stopped


def _start(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    pipe: bool,
) -> subprocess.Popen[str]:
    if _stopping:
        raise Stopped
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipe else 2,
            stderr=subprocess.STDOUT if pipe else None,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        if cwd and not cwd.is_dir():
            raise file_error("enter", cwd, error) from error
        if isinstance(error, FileNotFoundError):
            what = f"{argv[0]} is not installed. 'bash setup.sh' installs it."
            raise EngineError(what) from error
        raise file_error("run", Path(argv[0]), error) from error
    _running.add(process)
    if _stopping:  # since it was started
        _running.discard(process)
        _stop(process)
        raise Stopped
    return process


def _stop(process: subprocess.Popen[str]) -> None:
    """Ask the process group to stop as Ctrl-C does, and make what does not."""
    for step in (signal.SIGINT, signal.SIGTERM):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, step)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
            break
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def stream(
    argv: Sequence[str], heard: Callable[[str], None], env: Mapping[str, str] | None = None
) -> int:
    """Run ``argv``, hand every line that it says to ``heard``, and return its exit code.

    What it says is UTF-8, and ``env`` adds to the environment.

    Raises: as ``run``.
    """
    with _started(argv, env=env, pipe=True) as process:
        for line in _lines(process):
            heard(line)
        return process.wait()


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """The lines that ``process`` says, with their ends."""
    assert process.stdout
    said, left = process.stdout.fileno(), ""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    while True:
        # Waiting without an end would not notice a signal that another thread has taken.
        if not select.select([said], [], [], _SECONDS)[0]:
            continue
        piece = os.read(said, 1 << 16)
        *lines, left = (left + decoder.decode(piece, final=not piece)).split("\n")
        yield from (line + "\n" for line in lines)
        if not piece:
            if left:
                yield left
            return
