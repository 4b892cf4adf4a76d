# SPDX-License-Identifier: Apache-2.0
"""What the rules say of one component of a target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from packaging.version import Version

from cannery.common.cann import CannRelease
from cannery.common.cann_version import CannVersion
from cannery.common.model import Target
from cannery.compat.facts import Compat, Row
from cannery.compat.file_names import judged_as


class Verdict(StrEnum):
    """How a component fits the rest of its target."""

    ALLOWED = "allowed"
    ENDING = "ending"
    """It passes now, and a later release will not have it."""
    DISPUTED = "disputed"
    """One source allows it and another says something else. It passes, and both are shown."""
    NOT_JUDGED = "unjudged"
    """No source has the application beside the rest. It passes, and 'check' says so."""
    UNKNOWN = "unknown"
    """No source says anything. It passes only with the target's ``unverified: reason``."""
    FORBIDDEN = "forbidden"


Place = tuple[str | int, ...]
"""Keys, and numbers of list items, from the top of matrix.yaml down to a value."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One statement about one component of a target.

    Attributes:
        text: a sentence. Targets with the same mistake for the same reason have the same sentence.
        key: the target's key in matrix.yaml that it is about.
        place: where the cause is, if a definition that targets share is the cause.
        rows: what it rests on, best source first.
        against: the rows that say something else.
        fix: what to do about it.
        pairs: whether another torch, torch_npu, CANN or Python would be the remedy.
    """

    component: str
    verdict: Verdict
    text: str
    key: str
    place: Place = ()
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
    """The CANN release that the toolkit is looked up as."""

    @property
    def cann_name(self) -> str:
        """The toolkit's release as messages name it, with the one that it is judged as."""
        return self.name_of(self.target.cann)

    def is_cann(self, version: CannVersion) -> bool:
        """Whether a row for ``version`` holds for this target's toolkit."""
        return version in (self.cann, self.judged_as)

    def is_release(self, version: CannVersion, release: CannRelease) -> bool:
        """Whether a row for ``version`` holds for ``release``."""
        return version in (CannVersion.parse(release.version), judged_as(release))

    def name_of(self, release: CannRelease) -> str:
        """``release`` as messages name it, with the one that it is judged as."""
        name = f"CANN {release.version}"
        public = judged_as(release)
        if public == CannVersion.parse(release.version):
            return name
        return f"{name} (interim, judged as {public})"


R = TypeVar("R", bound=Row)


def best_first(rows: Iterable[R]) -> tuple[R, ...]:
    """``rows`` by the rank of their sources, then in the order of the file."""
    return tuple(sorted(rows, key=lambda row: (row.rank, row.line)))
