# SPDX-License-Identifier: Apache-2.0
"""The bandwidths of chips, which are in limits.ini with their sources."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ascend_doctor.ini import read_ini

_TABLE = read_ini(__name__, "limits.ini")


@dataclass(frozen=True)
class Limits:
    """What the hardware of a chip can do, in GB/s; 0 for unknown."""

    memory: float
    peer: float
    links: float
    most: int
    source: str

    def all_reduce(self, cards: int) -> float:
        """The most that an all-reduce of ``cards`` cards can have as bus bandwidth."""
        return min(self.peer * (cards - 1), self.links) if cards <= self.most else 0


def limits_of(name: str) -> Limits | None:
    """The limits of the device that torch calls ``name``; None if they are unknown."""
    for row in _TABLE.values():
        if re.fullmatch(row["names"], name):
            memory, peer, links = (float(row[key]) for key in ("memory", "peer", "links"))
            return Limits(memory, peer, links, int(row["most"]), row["source"])
    return None
