# SPDX-License-Identifier: Apache-2.0
"""Findings, the statements of rules about components of a target; and lifetimes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from packaging.version import Version

from cannery.common.bases import PythonSource
from cannery.common.cann_version import CannVersion
from cannery.common.model import CannRelease, Target
from cannery.compat.facts import LIFETIMES, Compat, Lifetime
from cannery.compat.files import judged_as
from cannery.compat.requested import Place, Requested, requested
from cannery.compat.sources import Row


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


@dataclass(frozen=True)
class Finding:
    """One statement about one component of a target.

    Attributes:
        text: a sentence. Targets with the same mistake for the same reason have the same sentence.
        key: the target's key in matrix.yaml that it is about.
        place: the cause in matrix.yaml, if it is a definition that targets share.
        beside: another place in matrix.yaml that it is about.
        rows: the rows for it, best source first.
        against: the rows that say something else.
        pairs: whether another torch, torch_npu, CANN or Python would be the remedy.
    """

    component: str
    verdict: Verdict
    text: str
    key: str
    _: KW_ONLY
    place: Place = ()
    beside: Place = ()
    rows: tuple[Row, ...] = ()
    against: tuple[Row, ...] = ()
    fix: str = ""
    pairs: bool = False


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A target with its parsed versions, and the known rows."""

    target: Target
    compat: Compat
    torch: Version | None
    torch_npu: Version | None
    deepspeed: Version | None
    cann: CannVersion
    judged_as: CannVersion
    """The CANN release that the toolkit is looked up as."""
    locked: Mapping[str, str] | None = None
    """Package to its version in the image, where a lock is judged."""

    @cached_property
    def asked(self) -> Mapping[str, Sequence[Requested]]:
        """Package to the requirements on it."""
        return requested(self.target)

    @property
    def cann_name(self) -> str:
        """The toolkit's release in messages."""
        return self.name_of(self.target.cann)

    def is_cann(self, version: CannVersion) -> bool:
        """Whether a row for ``version`` holds for this target's toolkit."""
        return version in (self.cann, self.judged_as)

    def name_of(self, release: CannRelease) -> str:
        """``release`` in messages, with the release that it is judged as."""
        name, public = f"CANN {release.version}", judged_as(release)
        if public == CannVersion.parse(release.version):
            return name
        return f"{name} (interim, judged as {public})"


R = TypeVar("R", bound=Row)


def best_first(rows: Iterable[R]) -> tuple[R, ...]:
    """``rows`` by the rank of their sources, then in the order of the file."""
    return tuple(sorted(rows, key=lambda row: (row.rank, row.line)))


def unjudged(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Of each application that is not judged: what no source has, and what one would have to."""
    return tuple(each.text for each in findings if each.verdict is Verdict.NOT_JUDGED)


UNKNOWN = "unknown"
"""The end of life of what no source names one for."""


def lifetimes_of(target: Target, compat: Compat) -> dict[str, Lifetime | None]:
    """Key of a target (cann, torch_npu, python, base) to the lifetime of its release, or None.

    An interim build of CANN has the lifetime of the nearest public release.
    """
    cann = target.cann.nearest_public if target.cann.interim else target.cann.version
    releases = {
        "cann": ("cann", cann),
        "torch_npu": ("torch_npu", target.torch if target.torch_npu else ""),
        "python": ("python", target.python.minor),
        "base": (target.base.distribution.name, target.base.suite),
    }
    known = {(row.component, row.version): row for row in best_first(compat.lifetimes)[::-1]}
    return {key: known.get(release) for key, release in releases.items() if release[1]}


def end_of_life(lifetime: Lifetime | None) -> str:
    """The day on which maintenance ends, as 2026-08-08, or UNKNOWN."""
    return (lifetime.ends if lifetime else "") or UNKNOWN


def judge_lifetimes(subject: Subject) -> Iterator[Finding]:
    """Releases and ends of maintenance. Nothing is refused."""
    for key, row in lifetimes_of(subject.target, subject.compat).items():
        if row is None or not (row.ends or row.released):
            continue
        name = f"{LIFETIMES[row.component]} {row.version}"
        text = f"Maintenance of {name}: until {row.ends}."
        if not row.ends:
            text = f"{name} is of {row.released}; no source says until when it is maintained."
        elif key == "python" and subject.target.python.source is PythonSource.BASE:
            text = (
                f"Maintenance of {name} by its makers; the base's distribution maintains its own "
                f"build: until {row.ends}."
            )
        verdict = Verdict.ENDING if row.ends else Verdict.ALLOWED
        yield Finding("maintenance", verdict, text, key, rows=(row,))
