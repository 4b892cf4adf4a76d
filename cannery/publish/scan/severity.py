# SPDX-License-Identifier: Apache-2.0
"""How severe a vulnerability is, from its CVSS vectors or in the words of an advisory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from cvss import CVSS2, CVSS3, CVSS4
from cvss.exceptions import CVSSError


class Severity(StrEnum):
    """As CVSS names it; the least severe first."""

    NONE = "none"
    UNKNOWN = "unknown"
    """The advisory neither has a vector nor says it in words."""
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Its place in this order."""
        return [*Severity].index(self)


_WORDS = {
    "negligible": Severity.NONE,
    "unimportant": Severity.NONE,
    "moderate": Severity.MEDIUM,
    "important": Severity.HIGH,
    **{str(each): each for each in Severity},
}
"""What advisories and scanners call them besides. Debian calls a vulnerability unimportant whose
code is in no binary package or is no security problem."""

_RATINGS = ((9.0, Severity.CRITICAL), (7.0, Severity.HIGH), (4.0, Severity.MEDIUM))
"""The least score of each severity (CVSS 3.1, section 5); CVSS 4.0 has the same."""


@dataclass(frozen=True, kw_only=True)
class Rating:
    """A severity, and the CVSS base score from 0 to 10 that it is from, if there is one."""

    severity: Severity = Severity.UNKNOWN
    score: float | None = None


def in_words(text: str) -> Severity:
    """The severity that an advisory or a scanner calls ``text``."""
    return _WORDS.get(text.lower(), Severity.UNKNOWN)


def rating(vectors: Sequence[str], words: str = "") -> Rating:
    """From the vector of the newest CVSS version, or else ``words``.

    Some sources have words in place of a vector.
    """
    for prefix, kind in (("CVSS:4", CVSS4), ("CVSS:3", CVSS3), ("", CVSS2)):
        scores = [*_scores(kind, (each for each in vectors if each.startswith(prefix)))]
        if scores:
            return Rating(severity=of_score(max(scores)), score=max(scores))
    return worst(Rating(severity=in_words(each)) for each in (words, *vectors))


def of_score(score: float) -> Severity:
    """The severity of a base score."""
    least = Severity.LOW if score > 0 else Severity.NONE
    return next((severity for limit, severity in _RATINGS if score >= limit), least)


def worst(ratings: Iterable[Rating]) -> Rating:
    """The most severe of ``ratings``; unknown if there is none."""
    return max(ratings, key=lambda each: (each.severity.rank, each.score or 0), default=Rating())


def _scores(kind: type[CVSS2 | CVSS3 | CVSS4], vectors: Iterable[str]) -> Iterable[float]:
    for vector in vectors:
        try:
            yield float(kind(vector).base_score)
        except (CVSSError, ValueError):
            continue
