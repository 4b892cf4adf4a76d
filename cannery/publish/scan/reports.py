# SPDX-License-Identifier: Apache-2.0
"""The result of a scan as text, JSON and SARIF."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cannery.common.columns import columns, fold
from cannery.common.errors import counted
from cannery.common.outside import json_text, printable
from cannery.publish.scan.advisories import Severity
from cannery.publish.scan.components import PYPI
from cannery.publish.scan.findings import Vulnerability
from cannery.publish.scan.result import Scan, Scanned
from cannery.verify.sarif import location, sarif_document

_HEAD = ("severity", "score", "id", "package", "version", "fixed in")


def scan_text(scan: Scan, width: int) -> str:
    """A table for each image, then the exceptions that need a change, and a summary."""
    lines = [line for each in scan.scanned for line in (*_of(each, width), "")]
    lines += fold((f"warning: {each}" for each in scan.warnings), width)
    lines += fold(_expired(scan), width)
    return "\n".join([*lines, *fold([_summary(scan)], width)])


def failing_names(scan: Scan) -> list[str]:
    """What has a vulnerability as severe as the threshold, each name once."""
    threshold = scan.threshold or Severity.NONE
    return [*dict.fromkeys(each.name for each in scan.scanned if each.at_least(threshold))]


def failing_packages(scan: Scan) -> list[str]:
    """The Python packages with a vulnerability as severe as the threshold, sorted."""
    threshold = scan.threshold or Severity.NONE
    components = {each.component for one in scan.scanned for each in one.at_least(threshold)}
    return sorted({each.name for each in components if each.ecosystem == PYPI})


def _of(scanned: Scanned, width: int) -> Iterator[str]:
    yield f"{scanned.name}: {counted(scanned.components, 'package')} examined"
    left_out = [
        f"{counted(number, f'{kind} package')}" for kind, number in scanned.left_out.items()
    ]
    notes = [*scanned.notes]
    if left_out:
        notes.append(f"{', '.join(left_out)} could not be examined")
    yield from fold((f"  note: {printable(each)}" for each in notes), width)
    if scanned.findings:
        rows = [_HEAD, *map(_row, scanned.findings)]
        yield from (f"  {line}" for line in columns(rows, right={1}))
    else:
        yield "  no known vulnerabilities"
    yield from fold(map(_accepted, scanned.accepted), width)


def _row(finding: Vulnerability) -> Sequence[str]:
    score = finding.rating.score
    cells = (finding.id, finding.component.shown, finding.component.version, finding.fixed or "-")
    return (
        finding.rating.severity,
        "-" if score is None else f"{score:.1f}",
        *map(printable, cells),
    )


def _accepted(finding: Vulnerability) -> str:
    exception = finding.exempted
    assert exception
    named = f"{finding.id} of {finding.component.name}"
    return f"  accepted until {exception.expires}: {printable(named)}: {exception.reason}"


def _expired(scan: Scan) -> Iterable[str]:
    for each in scan.expired:
        yield (
            f"error: {scan.file}:{each.line}: the exception for {each.id} of {each.package} "
            f"expired on {each.expires}. Update the package, or decide again: {each.reason}"
        )


def _summary(scan: Scan) -> str:
    findings = [finding for each in scan.scanned for finding in each.findings]
    found = Counter(each.rating.severity for each in findings)
    parts = [f"{found[each]} {each}" for each in reversed(Severity) if found[each]]
    accepted = sum(len(each.accepted) for each in scan.scanned)
    noun = "vulnerability" if len(findings) == 1 else "vulnerabilities"
    text = f"{len(findings):,} {noun}" + (f" ({', '.join(parts)})" if parts else "")
    text += f", {accepted} accepted" if accepted else ""
    return f"{text}. Source: {scan.source}."


def scan_json(scan: Scan) -> str:
    """Everything that was found, for programs."""
    document = {
        "schema": 1,
        "source": scan.source,
        "threshold": scan.threshold,
        "failed": scan.is_failure,
        "scanned": [_scanned(each) for each in scan.scanned],
        "expired": [
            {
                "id": each.id,
                "package": each.package,
                "reason": each.reason,
                "expires": each.expires,
                "line": each.line,
            }
            for each in scan.expired
        ],
        "warnings": list(scan.warnings),
    }
    return json_text(document) + "\n"


def _scanned(scanned: Scanned) -> dict[str, Any]:
    return {
        "name": scanned.name,
        "packages": scanned.components,
        "left_out": dict(scanned.left_out),
        "notes": list(scanned.notes),
        "findings": [_finding(each) for each in scanned.findings],
        "accepted": [_finding(each) for each in scanned.accepted],
    }


def _finding(finding: Vulnerability) -> dict[str, Any]:
    exception = finding.exempted
    return {
        "id": finding.id,
        "names": list(finding.names),
        "severity": finding.rating.severity,
        "score": finding.rating.score,
        "package": finding.component.name,
        "packages": list(finding.component.packages),
        "ecosystem": finding.component.ecosystem,
        "version": finding.component.version,
        "fixed": finding.fixed,
        "summary": finding.summary,
        "reason": exception.reason if exception else "",
        "expires": exception.expires if exception else "",
    }


_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
}


def scan_sarif(scan: Scan, file: str) -> str:
    """A document whose results point to ``file``, because an image has no line of one."""
    found = [(each.name, finding) for each in scan.scanned for finding in each.findings]
    rules = {finding.id: finding for _, finding in found}
    numbers = {name: number for number, name in enumerate(rules)}
    return sarif_document(
        [_rule(each) for each in rules.values()],
        [_result(name, each, numbers[each.id], file) for name, each in found],
    )


def _rule(finding: Vulnerability) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": finding.id,
        "shortDescription": {"text": finding.summary or finding.id},
    }
    if finding.rating.score is not None:
        # By this number code scanning sorts and colours results.
        rule["properties"] = {"security-severity": f"{finding.rating.score:.1f}"}
    return rule


def _result(name: str, finding: Vulnerability, rule: int, file: str) -> dict[str, Any]:
    component = finding.component
    fix = f" Version {finding.fixed} fixes it." if finding.fixed else ""
    said = f"{name}: {component.shown} {component.version} has {finding.id}.{fix}"
    mark = f"{name}\0{finding.id}\0{component.name}"
    return {
        "ruleId": finding.id,
        "ruleIndex": rule,
        "level": _LEVELS.get(finding.rating.severity, "note"),
        "message": {"text": said},
        "locations": [location(file, name)],
        "partialFingerprints": {"vulnerability/v1": hashlib.sha256(mark.encode()).hexdigest()},
    }
