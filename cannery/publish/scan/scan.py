# SPDX-License-Identifier: Apache-2.0
"""Scans bills of materials with advisories or with a scanner, and applies the exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cannery.publish.bills import NamedBill
from cannery.publish.scan.advisories import Database
from cannery.publish.scan.advisory_download import read_advisories
from cannery.publish.scan.components import Bill, Component, read_bill
from cannery.publish.scan.exceptions import Exempted, expired
from cannery.publish.scan.findings import Finding, find, is_version
from cannery.publish.scan.result import Scan, Scanned, split, without_effect
from cannery.publish.scan.scanners import SCANNERS, scan_with
from cannery.publish.scan.severity import Severity


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
    named: NamedBill, bill: Bill, findings: Sequence[Finding], unclear: Iterable[Component]
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
