# SPDX-License-Identifier: Apache-2.0
"""What the engine sends in pieces, as a file."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any


class Pieces(io.RawIOBase):
    """A file that can be read once, of what an iterable gives."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size
