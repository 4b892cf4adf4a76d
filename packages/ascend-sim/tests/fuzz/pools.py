# SPDX-License-Identifier: Apache-2.0
"""The handles and addresses that a run has got from the device, alive or not."""

from __future__ import annotations

import random
from collections import defaultdict, deque

WILD = (1, 7, 4095, 4096, 0x10000, 1 << 40, (1 << 47) - 4096, 1 << 62, (1 << 64) - 1)
MOST_ALIVE = 24
GONE_KEPT = 16


class Pools:
    """Handles by kind: 'stream', 'tensor', 'memory' and so on."""

    def __init__(self) -> None:
        self.alive: defaultdict[str, list[int]] = defaultdict(list)
        self.gone: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=GONE_KEPT))
        self.key = b""
        """The last key of shared memory that was exported."""

    def add(self, kind: str, handle: int) -> None:
        self.alive[kind].append(handle)

    def remove(self, kind: str, handle: int) -> None:
        if handle in self.alive[kind]:
            self.alive[kind].remove(handle)
            self.gone[kind].append(handle)

    def full(self, kind: str) -> bool:
        return len(self.alive[kind]) > MOST_ALIVE

    def pick(self, chance: random.Random, kind: str) -> int:
        """Mostly a live handle of the kind; else null, a dead, a wild one or one of another."""
        alive = tuple(self.alive[kind])
        number = chance.random()
        if alive and number < 0.85:
            return chance.choice(alive)
        if number < 0.9:
            return 0
        if number < 0.95:
            gone = tuple(self.gone[kind])
            return chance.choice(gone) if gone else 0
        others = [handles for handles in tuple(self.alive.values()) if handles]
        if number < 0.98 and others:
            return (tuple(chance.choice(others)) or (0,))[-1]
        return chance.choice(WILD)
