# SPDX-License-Identifier: Apache-2.0
"""Reports in the forms of grype 0.9x and trivy 0.6x, shortened to what is read."""

from __future__ import annotations

import pytest

from cannery.publish.scan.scanners import SCANNERS

GRYPE = {
    "matches": [
        {
            "vulnerability": {
                "id": "CVE-2005-2541",
                "severity": "Negligible",
                "fix": {"versions": [], "state": "wont-fix"},
                "cvss": [],
            },
            "relatedVulnerabilities": [],
            "artifact": {"name": "tar", "version": "1.34+dfsg-1", "type": "deb"},
        },
        {
            "vulnerability": {
                "id": "GHSA-53q9-r3pm-6pq6",
                "severity": "Critical",
                "fix": {"versions": ["2.6.0"], "state": "fixed"},
                "cvss": [{"metrics": {"baseScore": 9.3}}, {"metrics": {}}],
            },
            "relatedVulnerabilities": [{"id": "CVE-2025-32434"}],
            "artifact": {"name": "torch", "version": "2.3.1", "type": "python"},
        },
    ]
}
TRIVY = {
    "Results": [
        {"Type": "debian"},
        {
            "Type": "python-pkg",
            "Vulnerabilities": [
                {
                    "VulnerabilityID": "CVE-2025-32434",
                    "VendorIDs": ["GHSA-53q9-r3pm-6pq6"],
                    "PkgName": "torch",
                    "InstalledVersion": "2.3.1",
                    "FixedVersion": "2.6.0",
                    "Severity": "CRITICAL",
                    "Title": "a title",
                }
            ],
        },
    ]
}


def test_grype() -> None:
    torch, tar = SCANNERS["grype"].read(GRYPE)
    assert (torch.id, torch.names) == (
        "CVE-2025-32434",
        ("CVE-2025-32434", "GHSA-53q9-r3pm-6pq6"),
    )
    assert (torch.rating.severity, torch.rating.score, torch.fixed) == ("critical", 9.3, "2.6.0")
    torch_of = torch.component
    assert (torch_of.ecosystem, torch_of.name, torch_of.version) == ("PyPI", "torch", "2.3.1")
    assert (tar.rating.severity, tar.rating.score, tar.fixed) == ("none", None, "")


def test_trivy() -> None:
    [torch] = SCANNERS["trivy"].read(TRIVY)
    assert (torch.id, torch.rating.severity, torch.fixed) == ("CVE-2025-32434", "critical", "2.6.0")
    assert (torch.component.name, torch.summary) == ("torch", "a title")


@pytest.mark.parametrize("empty", [{}, {"Results": None}, {"Results": [{"Vulnerabilities": None}]}])
def test_trivy_without_findings(empty: object) -> None:
    assert SCANNERS["trivy"].read(empty) == []
