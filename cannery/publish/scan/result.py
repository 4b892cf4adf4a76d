# SPDX-License-Identifier: Apache-2.0
"""The result of a scan: what was found, what is accepted, and what could not be examined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cannery.common.errors import closest
from cannery.publish.scan.exceptions import Exempted
from cannery.publish.scan.findings import Finding, exempt, fits
from cannery.publish.scan.severity import Severity


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """What was found in one image, target or SBOM.

    ``findings`` are without exceptions; ``accepted`` have one that still holds. ``components`` is
    the number of packages that were examined, ``left_out`` maps kinds of packages to the number of
    those that no advisory can be matched with, and ``notes`` say what else was not examined.
    """

    name: str
    findings: Sequence[Finding]
    components: int
    accepted: Sequence[Finding] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def at_least(self, severity: Severity) -> list[Finding]:
        """The findings that are as severe as ``severity`` or more."""
        return [each for each in self.findings if each.rating.severity.rank >= severity.rank]


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What was found in all of them; ``threshold`` is the severity that fails, if one does.

    ``source`` names the database or the scanner, and ``file`` the file of the exceptions.
    ``expired`` are exceptions that no longer hold, and ``warnings`` are about exceptions that have
    no effect.
    """

    source: str
    scanned: Sequence[Scanned]
    threshold: Severity | None
    file: str = ""
    expired: Sequence[Exempted] = ()
    warnings: Sequence[str] = ()

    @property
    def is_failure(self) -> bool:
        """Whether something is as severe as the threshold, or an exception has expired."""
        return self.threshold is not None and bool(
            self.expired or any(each.at_least(self.threshold) for each in self.scanned)
        )


def split(
    findings: Iterable[Finding], exceptions: Sequence[Exempted], today: str
) -> tuple[list[Finding], list[Finding]]:
    """The findings that count, and those with an exception that holds on the day ``today``."""
    holding = [each for each in exceptions if not each.is_expired(today)]
    marked = exempt(findings, holding)
    return (
        [each for each in marked if not each.exempted],
        [each for each in marked if each.exempted],
    )


def without_effect(
    exceptions: Iterable[Exempted], findings: Sequence[Finding], names: Iterable[str], file: str
) -> list[str]:
    """A sentence for each exception that is about none of ``findings``.

    ``names`` are all ids that the database knows, and ``file`` is the name of the exceptions' file.
    """
    known = {*names}
    return [
        f"{file}:{each.line}: {_why(each, findings, known)}"
        for each in exceptions
        if not any(fits(each, finding) for finding in findings)
    ]


def _why(exception: Exempted, findings: Sequence[Finding], known: set[str]) -> str:
    named = f"the exception for {exception.id} of {exception.package}"
    same = [each for each in findings if exception.id in each.names]
    if same:
        packages = sorted({each.component.name for each in same})
        return f"{named} has no effect: {exception.id} is a vulnerability of {', '.join(packages)}."
    if known and exception.id not in known:
        # Among as many names as a whole database has, none is looked for.
        found = {name for each in findings for name in each.names}
        near = closest(exception.id, found) or closest(exception.id, known)
        hint = f" Did you mean {near!r}?" if near else ""
        return f"{named} has no effect: the database does not have {exception.id}.{hint}"
    return f"{named} is not used: nothing that was scanned has this vulnerability. Remove it."
