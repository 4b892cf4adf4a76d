# SPDX-License-Identifier: Apache-2.0
"""Runs functions in processes of their own, forked before the device is used.

Python 3.9 is enough, and nothing else is needed.
"""

import os
import re
import signal
import socket
import sys
import tempfile
import traceback
from typing import Any, Callable

CARDS = 2
"""Of the simulated host; a group has a rank on each."""
SECONDS = 600
"""In which a process must end; idle, the slowest takes 20."""


class RankError(Exception):
    """A rank has failed."""


def forked(work: "Callable[..., object]", *arguments: object) -> "tuple[int, Any]":
    """Start a process; its id, and the file that its output goes to."""
    output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - until the process has ended
    process = os.fork()
    if process == 0:
        _be(work, arguments, output.fileno())
    return process, output


def _be(work: "Callable[..., object]", arguments: "tuple[object, ...]", output: int) -> None:
    """Be that process, and end."""
    code = 1
    try:
        signal.alarm(SECONDS)
        os.dup2(output, 1)
        os.dup2(output, 2)
        work(*arguments)
        code = 0
    except BaseException:  # noqa: BLE001 - the parent reads it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(process: int, output: Any) -> "tuple[int, str]":
    """Wait for it: its exit code, and what it said."""
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with output:
        output.seek(0)
        return code, output.read()


def on_ranks(work: "Callable[[int, str], object]") -> "list[str]":
    """What each rank of a new group says, which calls ``work(rank, address)``.

    Raises:
        RankError: one has failed.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    ranks = [forked(work, rank, address) for rank in range(CARDS)]
    said = []
    for code, text in [ended(*rank) for rank in ranks]:
        if code:
            raise RankError(f"a rank ended with {code}: {reason(text)}")
        said.append(text)
    return said


def reason(text: str) -> str:
    """The last line of what a program said that names an error, else the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[A-Za-z_.]*(Error|Exception)\b", line)]
    return [*lines[-1:], *named[-1:]][-1] if lines else "no output"
