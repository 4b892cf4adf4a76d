# SPDX-License-Identifier: Apache-2.0
"""The bandwidths of chips, with their sources. What is not here is unknown.

Left out, because the sources differ or say nothing: the memory of the 910B (0.8 to 1.6 TB/s), and
everything of 910, 310P and 950.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What the hardware of a chip can do, in GB/s; 0 for unknown.

    ``peer`` is the link from a card to one other card, in one direction, and ``links`` all links
    of a card together. ``most`` is the number of cards that are connected in this way.
    """

    chip: str
    names: str
    memory: float
    peer: float
    links: float
    most: int
    source: str

    def all_reduce(self, cards: int) -> float:
        """The most that an all-reduce of ``cards`` cards can have as bus bandwidth."""
        return min(self.peer * (cards - 1), self.links) if cards <= self.most else 0


_LIMITS = (
    Limits(
        chip="910b",
        names=r"(Ascend ?)?910B[0-9].*",
        memory=0,
        peer=28,
        links=196,
        most=8,
        source="Atlas 800T A2 user guide (EDOC1100317202): HCCS 392 GB/s; arthurchiao.art, GPU "
        "notes 2, 2023-10: 56 GB/s between two cards; both count both directions",
    ),
    Limits(
        chip="a3",
        names=r"(Ascend ?)?910_93[0-9][0-9].*",
        memory=1600,
        peer=196,
        links=196,
        most=16,
        source="analysis of CloudMatrix 384, 2026-06: 196 GB/s for each NPU; techpowerup.com, "
        "2025-04-21: memory of the 910C 3,200 GB/s, which is two devices",
    ),
)


def limits_of(name: str) -> Limits | None:
    """The limits of the device that torch calls ``name``; None if they are unknown."""
    return next((each for each in _LIMITS if re.fullmatch(each.names, name)), None)
