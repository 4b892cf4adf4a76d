# SPDX-License-Identifier: Apache-2.0
"""Vulnerabilities of the packages of an image: which versions of a package are affected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from debian_inspector.version import Version as DebianVersion
from packaging.version import InvalidVersion, Version

from cannery.publish.scan.advisories import Advisory, Affected, Database, Range, Rating
from cannery.publish.scan.components import PYPI, Component
from cannery.publish.scan.exceptions import Exempted

_BEST_NAMES = ("CVE-", "GHSA-", "PYSEC-", "DSA-", "DLA-")


@dataclass(frozen=True, kw_only=True)
class Vulnerability:
    """A vulnerability of one package.

    ``names`` are all of its ids, of which ``id`` is the best known. ``fixed`` is the version
    without it, or empty. ``exempted`` is the exception that holds for it, if one does.
    """

    id: str
    names: tuple[str, ...]
    component: Component
    rating: Rating
    fixed: str = ""
    summary: str = ""
    exempted: Exempted | None = None


def find(components: Iterable[Component], database: Database) -> list[Vulnerability]:
    """The vulnerabilities of ``components``, the most severe first."""
    found = (each for one in components if is_version(one) for each in _of(one, database))
    return in_order(found)


def is_version(component: Component) -> bool:
    """Whether the version of ``component`` can be compared with others."""
    try:
        order_of(component.ecosystem)(component.version)
    except ValueError:
        return False
    return True


def in_order(findings: Iterable[Vulnerability]) -> list[Vulnerability]:
    """The most severe first, then by package and id."""
    return sorted(
        findings,
        key=lambda each: (
            *(-each.rating.severity.rank, -(each.rating.score or 0)),
            *(each.component, each.id),
        ),
    )


def _matching(component: Component, database: Database) -> Iterator[tuple[Advisory, str]]:
    """The advisories that ``component`` is affected by, with the fixed version."""
    for advisory in database.for_package(component.ecosystem, component.name):
        for affected in advisory.affected:
            here = (affected.ecosystem, affected.name) == (component.ecosystem, component.name)
            if here and is_affected(component.version, affected):
                yield advisory, fixed_version(component.version, affected)
                break


def _of(component: Component, database: Database) -> Iterator[Vulnerability]:
    matching = [*_matching(component, database)]
    single = {
        name for advisory, _ in matching if len(advisory.covers) <= 1 for name in advisory.names
    }
    # An advisory about several vulnerabilities, each of which has one of its own, adds nothing.
    kept = [each for each in matching if len(each[0].covers) <= 1 or not each[0].covers <= single]
    for group in _groups(kept):
        names = sorted({name for advisory, _ in group for name in advisory.names})
        covered = {name for advisory, _ in group for name in advisory.covers}
        yield Vulnerability(
            id=best_name(names),
            names=tuple(names),
            component=component,
            rating=database.rating_of({*names, *covered}),
            fixed=next((fixed for _, fixed in group if fixed), ""),
            summary=next((advisory.summary for advisory, _ in group if advisory.summary), ""),
        )


def best_name(names: Sequence[str]) -> str:
    """The id of ``names`` under which most people know the vulnerability."""
    for prefix in _BEST_NAMES:
        if known := [each for each in names if each.startswith(prefix)]:
            return known[0]
    return names[0]


def _groups(
    matching: Iterable[tuple[Advisory, str]],
) -> list[list[tuple[Advisory, str]]]:
    """Those that share an id together, however many others lie between them."""
    groups: list[tuple[set[str], list[tuple[Advisory, str]]]] = []
    for each in matching:
        names, joined = {*each[0].names}, [each]
        apart = []
        for other_names, others in groups:
            if names & other_names:
                names |= other_names
                joined = [*others, *joined]
            else:
                apart.append((other_names, others))
        groups = [*apart, (names, joined)]
    return [joined for _, joined in groups]


def exempt(
    findings: Iterable[Vulnerability], exceptions: Sequence[Exempted]
) -> list[Vulnerability]:
    """``findings`` with the exception that holds for each, if one does."""
    return [
        replace(
            each,
            exempted=next((one for one in exceptions if fits(one, each)), None),
        )
        for each in findings
    ]


def fits(exception: Exempted, finding: Vulnerability) -> bool:
    """Whether ``exception`` is about ``finding``."""
    component = finding.component
    return exception.id in finding.names and exception.package in (
        component.name,
        *component.packages,
    )


Order = Callable[[str], Any]
"""Makes a value of a version that can be compared; raises ValueError for one that is none."""

_FIRST = "0"
"""An introduced version that is before every other one."""


def order_of(ecosystem: str) -> Order:
    """How versions of ``ecosystem`` are compared: by PEP 440, or as dpkg does."""
    return _python if ecosystem == PYPI else DebianVersion.from_string


def _python(text: str) -> Version:
    # An advisory about 2.5.1 is also about 2.5.1+cpu, which is newer by PEP 440.
    try:
        return Version(Version(text).public)
    except InvalidVersion as error:
        raise ValueError(text) from error


def is_affected(version: str, affected: Affected) -> bool:
    """Whether ``version`` is affected, by the OSV schema's rules for ranges and lists.

    Raises:
        ValueError: ``version`` cannot be compared.
    """
    order = order_of(affected.ecosystem)
    own = order(version)
    if any(_has(each, own, order) for each in affected.ranges):
        return True
    return version in affected.versions or any(
        _comparable(order, each) == own for each in affected.versions
    )


def fixed_version(version: str, affected: Affected) -> str:
    """The first version after ``version`` that is fixed; empty if the advisory names none.

    Raises:
        ValueError: ``version`` cannot be compared.
    """
    order = order_of(affected.ecosystem)
    own = order(version)
    fixed = [
        (place, text)
        for each in affected.ranges
        if _has(each, own, order)
        for place, kind, text in _places(each, order)
        if kind == "fixed" and place > own
    ]
    return min(fixed)[1] if fixed else ""


def _has(affected: Range, own: Any, order: Order) -> bool:
    found = any(event == ("introduced", _FIRST) for event in affected.events)
    for place, kind, _ in sorted(_places(affected, order), key=lambda each: each[0]):
        if kind == "introduced" and own >= place:
            found = True
        elif (kind == "fixed" and own >= place) or (kind == "last_affected" and own > place):
            found = False
    return found


def _places(affected: Range, order: Order) -> Iterable[tuple[Any, str, str]]:
    """Each event with its version, as one that can be compared, its kind and the version's text."""
    for kind, text in affected.events:
        place = None if (kind, text) == ("introduced", _FIRST) else _comparable(order, text)
        if place is not None:
            yield place, kind, text


def _comparable(order: Order, text: str) -> Any:
    """What can be compared; None for versions from before the rules, which no package has."""
    try:
        return order(text)
    except ValueError:
        return None
