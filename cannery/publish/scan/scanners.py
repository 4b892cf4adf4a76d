# SPDX-License-Identifier: Apache-2.0
"""What the scanners grype and trivy print, as findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cannery.publish.scan.components import PYPI, Component
from cannery.publish.scan.findings import Finding, best_name, in_order
from cannery.publish.scan.severity import Rating, in_words

_ECOSYSTEMS = {"python": PYPI, "python-pkg": PYPI}
"""What scanners call an ecosystem."""


@dataclass(frozen=True, kw_only=True)
class Scanner:
    """A program that scans an SBOM.

    ``command`` comes first, ``output`` before the path of its report, and ``prefix`` directly
    before the path of the SBOM.
    """

    name: str
    command: Sequence[str]
    output: str
    prefix: str
    read: Callable[[Any], list[Finding]]


def _grype(document: Any) -> list[Finding]:
    return in_order(_of_match(each) for each in document["matches"])


def _of_match(match: Mapping[str, Any]) -> Finding:
    vulnerability, artifact = match["vulnerability"], match["artifact"]
    related = [each["id"] for each in match.get("relatedVulnerabilities") or ()]
    names = sorted({vulnerability["id"], *related})
    scores = [
        float(each["metrics"]["baseScore"])
        for each in vulnerability.get("cvss") or ()
        if "baseScore" in (each.get("metrics") or {})
    ]
    fixes = (vulnerability.get("fix") or {}).get("versions") or [""]
    return Finding(
        id=best_name(names),
        names=tuple(names),
        component=_component(str(artifact.get("type", "")), artifact["name"], artifact["version"]),
        rating=Rating(
            severity=in_words(vulnerability.get("severity", "")), score=max(scores, default=None)
        ),
        fixed=fixes[0],
    )


def _trivy(document: Any) -> list[Finding]:
    return in_order(_of_results(document))


def _of_results(document: Mapping[str, Any]) -> Iterator[Finding]:
    for result in document.get("Results") or ():
        for each in result.get("Vulnerabilities") or ():
            names = sorted({each["VulnerabilityID"], *(each.get("VendorIDs") or ())})
            yield Finding(
                id=best_name(names),
                names=tuple(names),
                component=_component(
                    str(result.get("Type", "")), each["PkgName"], each["InstalledVersion"]
                ),
                rating=Rating(severity=in_words(each.get("Severity", ""))),
                fixed=each.get("FixedVersion") or "",
                summary=each.get("Title") or "",
            )


def _component(kind: str, name: str, version: str) -> Component:
    ecosystem = _ECOSYSTEMS.get(kind, kind)
    return Component(ecosystem=ecosystem, name=name, version=version, packages=(name,))


SCANNERS = {
    each.name: each
    for each in (
        Scanner(
            name="grype",
            command=("grype", "--quiet", "--output", "json"),
            output="--file",
            prefix="sbom:",
            read=_grype,
        ),
        Scanner(
            name="trivy",
            command=("trivy", "sbom", "--quiet", "--format", "json"),
            output="--output",
            prefix="",
            read=_trivy,
        ),
    )
}
"""The scanners that can be used, by name."""
