# SPDX-License-Identifier: Apache-2.0
"""Advisories in the form of the OSV schema, version 1 (ossf.github.io/osv-schema), and ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cvss import CVSS2, CVSS3, CVSS4
from cvss.exceptions import CVSSError
from packaging.utils import canonicalize_name

from cannery.common.errors import FileError, Problem
from cannery.publish.scan.components import PYPI


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


MAX_PROBLEMS = 20
"""How many problems of a database are listed."""

_DISTRIBUTION_IDS = ("DEBIAN-", "UBUNTU-")
"""What these ids begin with is followed by the id of the vulnerability."""

_CVE = "CVE-"


@dataclass(frozen=True, kw_only=True)
class Range:
    """Versions that are affected: pairs of an event (introduced, fixed, last_affected) and one."""

    events: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Affected:
    """A package that an advisory is about, and which of its versions."""

    ecosystem: str
    name: str
    ranges: tuple[Range, ...]
    versions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Advisory:
    """What one source says of a vulnerability, or of several (``upstream``)."""

    id: str
    aliases: tuple[str, ...]
    upstream: tuple[str, ...]
    summary: str
    affected: tuple[Affected, ...]

    @property
    def names(self) -> frozenset[str]:
        """All ids of the one vulnerability, or that of the advisory if there are several."""
        prefix = next((each for each in _DISTRIBUTION_IDS if self.id.startswith(each)), "")
        same = {self.id.removeprefix(prefix)} if prefix else set()
        if prefix or len(self.covers) == 1:
            same |= {*self.upstream}
        return frozenset({self.id, *self.aliases, *same})

    @property
    def covers(self) -> frozenset[str]:
        """The vulnerabilities that the advisory is about, if it names them."""
        return frozenset(each for each in self.upstream if each.startswith(_CVE))


class _RecordError(ValueError):
    """A member of a record has the wrong form."""


class Database:
    """The advisories about ``wanted`` packages, each an ecosystem and a name."""

    def __init__(self, wanted: Collection[tuple[str, str]]) -> None:
        self._wanted = frozenset(wanted)
        self._by_package: dict[tuple[str, str], list[Advisory]] = defaultdict(list)
        self._ratings: dict[str, tuple[tuple[str, ...], str]] = {}
        self._seen: set[str] = set()
        self._problems: list[Problem] = []
        self.newest = ""
        """When the newest of all advisories was changed, as in ``2026-11-21``."""
        self.names: set[str] = set()
        """Every id and alias."""

    @property
    def count(self) -> int:
        """How many advisories there are, about any package."""
        return len(self._seen)

    def for_package(self, ecosystem: str, name: str) -> Sequence[Advisory]:
        """The advisories about a wanted package."""
        return self._by_package.get((ecosystem, name), ())

    def rating_of(self, names: Collection[str]) -> Rating:
        """The worst rating that any advisory gives to a vulnerability of one of these ids."""
        return worst(rating(*self._ratings[each]) for each in names if each in self._ratings)

    def add(self, record: Any, where: str) -> None:
        """Add a record; what is wrong in it is a problem that names ``where``."""
        try:
            self._add(record)
        except _RecordError as wrong:
            self.wrong(Problem(what=f"{where}: {wrong}"))

    def wrong(self, problem: Problem) -> None:
        """Note a problem.

        Raises:
            FileError: with all problems so far, because there are too many to list.
        """
        self._problems.append(problem)
        if len(self._problems) >= MAX_PROBLEMS:
            self._problems.append(Problem(what=f"Only the first {MAX_PROBLEMS} are listed."))
            self.raise_if_wrong()

    def raise_if_wrong(self) -> None:
        """Raise FileError with every problem."""
        if self._problems:
            raise FileError(self._problems)

    def _add(self, record: Any) -> None:
        if not isinstance(record, dict):
            raise _RecordError("the record is not an object.")
        own = _text(record, "id")
        if not own:
            raise _RecordError("the record has no 'id'.")
        if record.get("withdrawn"):
            return
        advisory = Advisory(
            id=own,
            aliases=_texts(record, "aliases"),
            upstream=_texts(record, "upstream"),
            summary=_text(record, "summary"),
            affected=tuple(
                each
                for number, item in enumerate(_items(record, "affected"))
                if (each := _affected(item, f"affected[{number}]"))
            ),
        )
        self._remember(advisory, record)

    def _remember(self, advisory: Advisory, record: Mapping[str, Any]) -> None:
        self.newest = max(self.newest, _text(record, "modified")[:10])
        self._seen.add(advisory.id)
        self.names |= advisory.names
        vectors, words = _severity(record)
        if vectors or words:
            self._ratings[advisory.id] = vectors, words
        packages = {(each.ecosystem, each.name) for each in advisory.affected}
        for package in packages & self._wanted:
            if all(each.id != advisory.id for each in self._by_package[package]):
                self._by_package[package].append(advisory)


def plain_ecosystem(text: str) -> str:
    """``text`` without what follows the release, as in ``Ubuntu:22.04`` for Ubuntu:22.04:LTS."""
    return ":".join(text.split(":")[:2])


def _affected(item: Any, place: str) -> Affected | None:
    if not isinstance(item, dict):
        raise _RecordError(f"{place} is not an object.")
    package = item.get("package")
    if not isinstance(package, dict):
        return None  # only versions in git, which no package has
    ecosystem = plain_ecosystem(_text(package, "ecosystem"))
    name = _text(package, "name")
    return Affected(
        ecosystem=ecosystem,
        name=canonicalize_name(name) if ecosystem == PYPI else name,
        ranges=tuple(
            Range(events=_events(each, f"{place}.ranges[{number}]"))
            for number, each in enumerate(_items(item, "ranges", place))
            if isinstance(each, dict) and each.get("type") != "GIT"
        ),
        versions=_texts(item, "versions", place),
    )


def _events(item: Mapping[str, Any], place: str) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for number, each in enumerate(_items(item, "events", place)):
        if not isinstance(each, dict) or not all(isinstance(text, str) for text in each.values()):
            raise _RecordError(f"{place}.events[{number}] is not an object with versions.")
        found += each.items()
    return tuple(found)


def _severity(record: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """The vectors, and the severity in words, of the record or of its affected packages."""
    affected = [each for each in _items(record, "affected") if isinstance(each, dict)]
    given = _items(record, "severity")
    given = given + [each for one in affected for each in _items(one, "severity")]
    vectors = [str(each.get("score", "")) for each in given if isinstance(each, dict)]
    specific = record.get("database_specific")
    words = str(specific.get("severity") or "") if isinstance(specific, dict) else ""
    urgencies = {
        str(own.get("urgency", ""))
        for each in affected
        if isinstance(own := each.get("ecosystem_specific"), dict)
    }
    if urgencies == {"unimportant"}:
        return (), "unimportant"
    return tuple(vectors), words


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise _RecordError(f"{key!r} is not text.")
    return value or ""


def _items(record: Mapping[str, Any], key: str, place: str = "") -> list[Any]:
    value = record.get(key)
    if value is not None and not isinstance(value, list):
        raise _RecordError(f"{place}.{key} is not a list.".lstrip("."))
    return value or []


def _texts(record: Mapping[str, Any], key: str, place: str = "") -> tuple[str, ...]:
    values = _items(record, key, place)
    if not all(isinstance(each, str) for each in values):
        raise _RecordError(f"{place}.{key} has an item that is not text.".lstrip("."))
    return tuple(values)
