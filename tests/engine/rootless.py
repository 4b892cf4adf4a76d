# SPDX-License-Identifier: Apache-2.0
"""An engine without root's rights: its processes have none outside of a namespace of users."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .engines import Engine, beside_own_storage, engine

_FIRST, _COUNT = 1_000_000, 65536
"""The users of the machine that are those of the namespace, beginning with its root."""


@contextmanager
def _namespaces() -> Iterator[tuple[str, ...]]:
    """The words that run a command as an unprivileged user, who is root of its namespaces."""
    words = ["unshare", "--user", "--net", "--mount", "--propagation", "slave"]
    with subprocess.Popen([*words, "sleep", "infinity"]) as holder:
        own = Path(f"/proc/{holder.pid}")
        try:
            while (own / "comm").read_text() != "sleep\n":
                assert holder.poll() is None
                time.sleep(0.01)
            for name in ("uid_map", "gid_map"):
                (own / name).write_text(f"0 {_FIRST} {_COUNT}\n")
            into = ("--user", "--net", "--mount", "--setuid=0", "--setgid=0")
            inside = ("nsenter", f"--target={holder.pid}", *into)
            script = "mount -t tmpfs tmpfs /run && ip link set lo up"
            subprocess.run([*inside, "sh", "-c", script], check=True)
            yield inside
        finally:
            holder.kill()


@contextmanager
def rootless_engine(number: int) -> Iterator[tuple[Engine, tuple[str, ...]]]:
    """An engine, and the words that run a command in its network; ``number`` tells it apart."""
    folder = beside_own_storage()
    os.chown(folder, _FIRST, _FIRST)
    try:
        with _namespaces() as inside:
            settings = (f"XDG_RUNTIME_DIR={folder}", f"ROOTLESSKIT_STATE_DIR={folder}")
            with engine(
                folder,
                number,
                containerd=False,
                inside=(*inside, "env", *settings),
                data=folder / "data",
                options=("--rootless",),
            ) as started:
                yield started, (*inside[:2], "--net")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
