# SPDX-License-Identifier: Apache-2.0
"""What the rules say of one component of a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from packaging.version import Version

from cannery.common.bases import PythonSource
from cannery.common.cann_version import CannVersion
from cannery.common.model import CannRelease, Target
from cannery.compat.facts import LIFETIMES, Compat, Lifetime, Row
from cannery.compat.files import judged_as


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


UNKNOWN = "unknown"
"""The end of life of what no source names one for."""


def lifetimes_of(target: Target, compat: Compat) -> dict[str, Lifetime | None]:
    """Key of a target (cann, torch_npu, python, base) to what is known of its release, or None.

    An interim build of CANN has the lifetime of the nearest public release.
    """
    cann = target.cann.nearest_public if target.cann.interim else target.cann.version
    wanted = {
        "cann": ("cann", cann),
        "torch_npu": ("torch_npu", target.torch if target.torch_npu else ""),
        "python": ("python", target.python.minor),
        "base": (target.base.distribution.name, target.base.suite),
    }
    return {
        key: next(iter(_lifetime_rows(compat, component, version)), None)
        for key, (component, version) in wanted.items()
        if version
    }


def end_of_life(lifetime: Lifetime | None) -> str:
    """The day on which maintenance ends, as 2026-08-08, or UNKNOWN."""
    return (lifetime.ends if lifetime else "") or UNKNOWN


def judge_lifetimes(subject: Subject) -> Iterator[Finding]:
    """What sources say of releases and ends of maintenance. Nothing is refused."""
    for key, lifetime in lifetimes_of(subject.target, subject.compat).items():
        if lifetime is None or not (lifetime.ends or lifetime.released):
            continue
        name = f"{LIFETIMES[lifetime.component]} {lifetime.version}"
        if not lifetime.ends:
            text = f"{name} is of {lifetime.released}; no source says until when it is maintained."
        elif key == "python" and subject.target.python.source is PythonSource.BASE:
            text = (
                f"Maintenance of {name} by its makers; the base's distribution maintains its own "
                f"build: until {lifetime.ends}."
            )
        else:
            text = f"Maintenance of {name}: until {lifetime.ends}."
        yield Finding(
            component="maintenance",
            verdict=Verdict.ENDING if lifetime.ends else Verdict.ALLOWED,
            text=text,
            key=key,
            rows=(lifetime,),
        )


def has_ended(finding: Finding, today: str) -> bool:
    """Whether ``finding`` is about a maintenance that ended before the day ``today``."""
    rows = [row for row in finding.rows if isinstance(row, Lifetime)]
    return any(row.ends < today for row in rows if row.ends)


def _lifetime_rows(compat: Compat, component: str, version: str) -> tuple[Lifetime, ...]:
    return best_first(
        [row for row in compat.lifetimes if (row.component, row.version) == (component, version)]
    )
