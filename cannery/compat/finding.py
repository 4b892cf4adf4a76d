# SPDX-License-Identifier: Apache-2.0
"""What the rules say of one component of a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from packaging.version import Version

from cannery.compat.facts import Compat, Row
from cannery.model import Target
from cannery.syntax.cann_version import CannVersion


class Verdict(StrEnum):
    """How a component fits the rest of its target."""

    ALLOWED = "allowed"
    DISPUTED = "disputed"
    """A source allows it, and another one says something else. It passes, and is shown."""
    UNKNOWN = "unknown"
    """No source says anything. It passes with the target's ``unverified: reason`` only."""
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One statement: ``text`` is a sentence, ``rows`` are what it rests on, best source first.

    ``against`` are the rows that say something else; ``key`` is the target's key in matrix.yaml
    that it is about; ``fix`` is what to do about it; ``pairs`` says that another torch, torch_npu,
    CANN or Python would be the remedy.
    """

    component: str
    verdict: Verdict
    text: str
    key: str
    rows: tuple[Row, ...] = ()
    against: tuple[Row, ...] = ()
    fix: str = ""
    pairs: bool = False


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A target with its versions parsed, and all that is known."""

    target: Target
    compat: Compat
    torch: Version | None
    torch_npu: Version | None
    deepspeed: Version | None
    cann: CannVersion
    judged_as: CannVersion
    """The CANN release that rows are looked up for: of an interim build the nearest public one."""

    @property
    def cann_name(self) -> str:
        """CANN as messages name it, which say what an interim build is judged as."""
        if self.judged_as == self.cann:
            return f"CANN {self.cann}"
        return f"CANN {self.cann} (interim, judged as {self.judged_as})"

    def is_cann(self, version: CannVersion) -> bool:
        """Whether a row for ``version`` holds for this target."""
        return version in (self.cann, self.judged_as)


def best_first(rows: Sequence[Row]) -> tuple[Row, ...]:
    """``rows`` by the rank of their sources, then as they are in the file."""
    return tuple(sorted(rows, key=lambda row: (row.rank, row.line)))
