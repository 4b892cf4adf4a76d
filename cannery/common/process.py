# SPDX-License-Identifier: Apache-2.0
"""Runs programs so that an interrupt also stops all processes that they started."""

from __future__ import annotations

import codecs
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cannery.common.errors import EngineError, file_error
from cannery.common.program_environment import program_of, stated

_running: set[subprocess.Popen[str]] = set()
_stopping: list[bool] = []
"""Not empty while a thread is stopping all programs."""

_SECONDS = 0.2
"""The maximum delay until a signal is handled."""

_PATIENCE = 10.0
"""Seconds without news after which users believe that nothing happens any more."""


class Stopped(BaseException):
    """The run is being stopped, and a program was stopped with it; its output is incomplete."""


@contextmanager
def stopping() -> Iterator[None]:
    """Stop the programs of all threads, and start no program until the block ends.

    An interrupt reaches only the main thread; without this, programs of other threads would
    continue.
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
    waiting: Callable[[], None] | None = None,
) -> tuple[int, str]:
    """Run ``argv``; return its exit code and, with ``capture``, its output (both streams).

    ``env`` is added to what ``program_environment.stated`` lets through. Without ``capture`` the
    output goes to this process's stderr, because stdout is for data. ``waiting`` is called every
    10 seconds while it runs.

    Raises:
        EngineError: the program is not installed.
        KeyboardInterrupt: raised after the program and its children were stopped.
        Stopped: the same, in a thread other than the main one.
    """
    with _started(argv, cwd=cwd, env=env, pipe=capture) as process:
        while True:
            try:
                output, _ = process.communicate(timeout=_PATIENCE if waiting else None)
                break
            except subprocess.TimeoutExpired:
                assert waiting
                waiting()
    return process.returncode, output or ""


def run_within(argv: Sequence[str], seconds: float) -> tuple[int | None, str]:
    """Run ``argv``; return its exit code, None if it took too long, and its output so far.

    Raises: as ``run``.
    """
    with _started(argv, pipe=True) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _stop(process)
            output, _ = process.communicate()
            return None, output or ""
    return process.returncode, output or ""


@contextmanager
def _started(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    pipe: bool,
) -> Iterator[subprocess.Popen[str]]:
    """A running program; the end of the block waits for it."""
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
            env={**stated(program_of(argv)), **(env or {})},
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
    """Stop the process group with SIGINT, then with SIGTERM, and at last with SIGKILL."""
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
    """Run ``argv``, call ``heard`` with every line of its output, and return its exit code.

    The output is UTF-8; ``env`` is that of ``run``.

    Raises: as ``run``.
    """
    with _started(argv, env=env, pipe=True) as process:
        for line in _lines(process):
            heard(line)
        return process.wait()


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """The lines of the output of ``process``, with their line endings."""
    assert process.stdout
    said, left = process.stdout.fileno(), ""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    while True:
        # Waiting without a timeout would not notice a signal that another thread has received.
        if not select.select([said], [], [], _SECONDS)[0]:
            continue
        piece = os.read(said, 1 << 16)
        *lines, left = (left + decoder.decode(piece, final=not piece)).split("\n")
        yield from (line + "\n" for line in lines)
        if not piece:
            if left:
                yield left
            return
