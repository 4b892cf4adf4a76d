# SPDX-License-Identifier: Apache-2.0
"""A socket in front of an engine's own, which can be slow or go away."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Gate:
    """Passes what comes to the socket ``path`` on to the engine at ``host``.

    ``delay`` is the time in seconds that each piece of data waits.
    """

    def __init__(self, host: str, path: Path) -> None:
        self.delay = 0.0
        self._behind = host.removeprefix("unix://")
        self._path = path
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def host(self) -> str:
        return f"unix://{self._path}"

    def close(self) -> None:
        """Remove the socket, and end all connections."""
        self._path.unlink(missing_ok=True)
        for each in [self._listener, *self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                front, _ = self._listener.accept()
            except OSError:
                return
            behind = socket.socket(socket.AF_UNIX)
            self._open += [front, behind]
            try:
                behind.connect(self._behind)
            except OSError:
                front.close()
                continue
            for pair in ((front, behind), (behind, front)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(1 << 16):
                time.sleep(self.delay)
                sink.sendall(piece)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def gate(host: str, path: Path) -> Iterator[Gate]:
    """A gate in front of the engine at ``host``, for the time of the block."""
    path.unlink(missing_ok=True)
    opened = Gate(host, path)
    try:
        yield opened
    finally:
        opened.close()
