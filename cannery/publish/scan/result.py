# SPDX-License-Identifier: Apache-2.0
"""The result of a scan: what was found, what is accepted, and what could not be examined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cannery.common.errors import closest
from cannery.publish.bills import NamedBill
from cannery.publish.scan.advisories import Database, Severity
from cannery.publish.scan.advisory_download import read_advisories
from cannery.publish.scan.components import Bill, Component, read_bill
from cannery.publish.scan.exceptions import Exempted, expired
from cannery.publish.scan.findings import Vulnerability, exempt, find, fits, is_version
from cannery.publish.scan.scanners import SCANNERS, scan_with


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """What was found in one image, target or SBOM.

    ``findings`` are without exceptions; ``accepted`` have one that still holds. ``components`` is
    the number of packages that were examined, ``left_out`` maps kinds of packages to the number of
    those that no advisory can be matched with, and ``notes`` say what else was not examined.
    """

    name: str
    findings: Sequence[Vulnerability]
    components: int
    accepted: Sequence[Vulnerability] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def at_least(self, severity: Severity) -> list[Vulnerability]:
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
    findings: Iterable[Vulnerability], exceptions: Sequence[Exempted], today: str
) -> tuple[list[Vulnerability], list[Vulnerability]]:
    """The findings that count, and those with an exception that holds on the day ``today``."""
    holding = [each for each in exceptions if not each.is_expired(today)]
    marked = exempt(findings, holding)
    return (
        [each for each in marked if not each.exempted],
        [each for each in marked if each.exempted],
    )


def without_effect(
    exceptions: Iterable[Exempted],
    findings: Sequence[Vulnerability],
    names: Iterable[str],
    file: str,
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


def _why(exception: Exempted, findings: Sequence[Vulnerability], known: set[str]) -> str:
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


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What counts: ``exceptions`` are from the file ``file``, and ``today`` is as in 2026-11-22.

    ``fixable`` says that only vulnerabilities count that a version fixes.
    """

    threshold: Severity | None
    fixable: bool
    exceptions: Sequence[Exempted]
    file: str
    today: str


def scan_with_database(
    named: Sequence[NamedBill], sources: Sequence[str], rules: Rules, ca: Path | None
) -> Scan:
    """Compare the packages of ``named`` with the advisories of ``sources``.

    Raises:
        FileError: a bill or an advisory is wrong.
        UsageError, EngineError: as ``read_advisories``.
    """
    read = [(each, read_bill(each.document, each.name)) for each in named]
    components = {one for _, bill in read for one in bill.components}
    database = Database({(each.ecosystem, each.name) for each in components})
    ecosystems = {each.ecosystem.partition(":")[0] for each in components}
    read_advisories(sources, database, ecosystems, ca)
    scanned = [
        _scanned(each, bill, find(bill.components, database), _unclear(bill, database))
        for each, bill in read
    ]
    source = f"{database.count:,} advisories, the newest of {database.newest or 'unknown date'}"
    return _judged(scanned, source, rules, database.names)


def scan_with_scanner(named: Sequence[NamedBill], name: str, rules: Rules) -> Scan:
    """Let the scanner ``name`` look for vulnerabilities.

    Raises:
        FileError: a bill is wrong.
        EngineError: as ``scan_with``.
    """
    scanned = [
        _scanned(
            each,
            replace(read_bill(each.document, each.name), left_out={}),
            scan_with(SCANNERS[name], each.document, each.name),
            (),
        )
        for each in named
    ]
    return _judged(scanned, name, rules, ())


def _unclear(bill: Bill, database: Database) -> list[Component]:
    return [
        each
        for each in bill.components
        if database.for_package(each.ecosystem, each.name) and not is_version(each)
    ]


def _scanned(
    named: NamedBill, bill: Bill, findings: Sequence[Vulnerability], unclear: Iterable[Component]
) -> Scanned:
    notes = [
        f"{each.name} was not examined: its version {each.version!r} cannot be compared"
        for each in unclear
    ]
    return Scanned(
        name=named.name,
        findings=findings,
        components=len(bill.components),
        left_out=bill.left_out,
        notes=(*named.notes, *notes),
    )


def _judged(scanned: Sequence[Scanned], source: str, rules: Rules, names: Iterable[str]) -> Scan:
    findings = [finding for each in scanned for finding in each.findings]
    judged = []
    for each in scanned:
        counting, accepted = split(each.findings, rules.exceptions, rules.today)
        if rules.fixable:
            counting = [finding for finding in counting if finding.fixed]
        judged.append(replace(each, findings=counting, accepted=accepted))
    return Scan(
        source=source,
        scanned=judged,
        threshold=rules.threshold,
        expired=expired(rules.exceptions, rules.today),
        warnings=without_effect(rules.exceptions, findings, names, rules.file),
        file=rules.file,
    )
