# SPDX-License-Identifier: Apache-2.0
"""Marks what a run leaves lying about while it works, so that a later run can tell and clear it."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def own_mark() -> str:
    """What tells this process from every other one: machine, number, and when it started."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def is_gone(mark: str) -> bool:
    """Whether ``mark`` is that of a process of this machine which has ended."""
    host, _, rest = mark.rpartition(":")[0].rpartition(":")
    started = mark.rpartition(":")[2]
    if host != socket.gethostname() or not rest.isdigit() or not started:
        return False
    return _started(int(rest)) != started


def _started(process: int) -> str:
    """When ``process`` started, in the kernel's own unit; nothing where it has ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name of the program may hold spaces and brackets; the 20th field after it is the time.
    return text.rpartition(")")[2].split()[19]
