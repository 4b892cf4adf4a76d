# SPDX-License-Identifier: Apache-2.0
"""The result of a scan as JSON; schemas/scan-report.schema.json has its fields."""

from __future__ import annotations

from typing import Any

from cannery.common.printable import json_text
from cannery.publish.scan.findings import Finding
from cannery.publish.scan.result import Scan, Scanned


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


def _finding(finding: Finding) -> dict[str, Any]:
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
