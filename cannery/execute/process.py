# SPDX-License-Identifier: Apache-2.0
"""Runs programs so that an interrupt stops all that they started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cannery.errors import EngineError, file_error

_running: set[subprocess.Popen[str]] = set()
_stopping: list[bool] = []
"""Has something in it while any thread is stopping them all."""


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
    """
    with _start(argv, cwd=cwd, env=env, pipe=capture) as process:
        try:
            output, _ = process.communicate()
        except BaseException:
            _stop(process)
            raise
        finally:
            _running.discard(process)
    return process.returncode, output or ""


def _start(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    pipe: bool,
) -> subprocess.Popen[str]:
    if _stopping:
        raise EngineError("the run is being stopped.")
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
        raise EngineError("the run is being stopped.")
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

    ``env`` adds to the environment.

    Raises: as ``run``.
    """
    with _start(argv, env=env, pipe=True) as process:
        try:
            assert process.stdout
            for line in process.stdout:
                heard(line)
            return process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            _running.discard(process)
