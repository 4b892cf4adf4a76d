# SPDX-License-Identifier: Apache-2.0
"""CANN releases in their order, which releases.json has."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

RELEASES = Path(__file__).parents[2] / "ascend_sim" / "releases.json"


@dataclass(frozen=True, order=True)
class Cann:
    """A release of CANN; an older one is less."""

    place: int = field(repr=False)
    name: str

    @classmethod
    def parse(cls, name: str) -> Cann:
        """The release of that name."""
        return cls(known()["order"].index(name), name)

    def __str__(self) -> str:
        return self.name


def oldest_cann(*, makers: bool) -> dict[str, Cann]:
    """The version of a torch_npu to the oldest CANN that a source names for it, or a maker does."""
    found = known()["oldest_cann"]["of_makers" if makers else "of_any_source"]
    return {torch_npu: Cann.parse(name) for torch_npu, name in found.items()}


@cache
def known() -> dict[str, Any]:
    """What releases.json says."""
    found: dict[str, Any] = json.loads(RELEASES.read_text(encoding="utf-8"))
    return found
