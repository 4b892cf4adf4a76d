# SPDX-License-Identifier: Apache-2.0
"""The result of a scan as SARIF 2.1.0, which code scanning shows."""

from __future__ import annotations

import hashlib
from typing import Any

from cannery.publish.scan.findings import Finding
from cannery.publish.scan.result import Scan
from cannery.publish.scan.severity import Severity
from cannery.verify.sarif import location, sarif_document

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


def _rule(finding: Finding) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": finding.id,
        "shortDescription": {"text": finding.summary or finding.id},
    }
    if finding.rating.score is not None:
        # By this number code scanning sorts and colours results.
        rule["properties"] = {"security-severity": f"{finding.rating.score:.1f}"}
    return rule


def _result(name: str, finding: Finding, rule: int, file: str) -> dict[str, Any]:
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
