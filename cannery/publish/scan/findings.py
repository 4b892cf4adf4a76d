# SPDX-License-Identifier: Apache-2.0
"""Vulnerabilities of the packages of an image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cannery.publish.scan.advisories import Advisory, Database
from cannery.publish.scan.components import Component
from cannery.publish.scan.exceptions import Exempted
from cannery.publish.scan.severity import Rating
from cannery.publish.scan.versions import fixed_version, is_affected, order_of

_BEST_NAMES = ("CVE-", "GHSA-", "PYSEC-", "DSA-", "DLA-")


@dataclass(frozen=True, kw_only=True)
class Finding:
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


def find(components: Iterable[Component], database: Database) -> list[Finding]:
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


def in_order(findings: Iterable[Finding]) -> list[Finding]:
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
    for advisory in database.of(component.ecosystem, component.name):
        for affected in advisory.affected:
            here = (affected.ecosystem, affected.name) == (component.ecosystem, component.name)
            if here and is_affected(component.version, affected):
                yield advisory, fixed_version(component.version, affected)
                break


def _of(component: Component, database: Database) -> Iterator[Finding]:
    matching = [*_matching(component, database)]
    single = {
        name for advisory, _ in matching if len(advisory.covers) <= 1 for name in advisory.names
    }
    # An advisory about several vulnerabilities, each of which has one of its own, adds nothing.
    kept = [each for each in matching if len(each[0].covers) <= 1 or not each[0].covers <= single]
    for group in _groups(kept):
        names = sorted({name for advisory, _ in group for name in advisory.names})
        covered = {name for advisory, _ in group for name in advisory.covers}
        yield Finding(
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


def exempt(findings: Iterable[Finding], exceptions: Sequence[Exempted]) -> list[Finding]:
    """``findings`` with the exception that holds for each, if one does."""
    return [
        replace(
            each,
            exempted=next((one for one in exceptions if fits(one, each)), None),
        )
        for each in findings
    ]


def fits(exception: Exempted, finding: Finding) -> bool:
    """Whether ``exception`` is about ``finding``."""
    component = finding.component
    return exception.id in finding.names and exception.package in (
        component.name,
        *component.packages,
    )
