# SPDX-License-Identifier: Apache-2.0
"""Runs the scanners grype and trivy, and reads what they print."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.common import console
from cannery.common.errors import EngineError, Problem, file_error
from cannery.common.process import run
from cannery.publish.scan.advisories import Rating, in_words
from cannery.publish.scan.advisory_download import read_json
from cannery.publish.scan.components import PYPI, Component
from cannery.publish.scan.findings import Vulnerability, best_name, in_order

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
    read: Callable[[Any], list[Vulnerability]]


def _grype(document: Any) -> list[Vulnerability]:
    return in_order(_of_match(each) for each in document["matches"])


def _of_match(match: Mapping[str, Any]) -> Vulnerability:
    vulnerability, artifact = match["vulnerability"], match["artifact"]
    related = [each["id"] for each in match.get("relatedVulnerabilities") or ()]
    names = sorted({vulnerability["id"], *related})
    scores = [
        float(each["metrics"]["baseScore"])
        for each in vulnerability.get("cvss") or ()
        if "baseScore" in (each.get("metrics") or {})
    ]
    fixes = (vulnerability.get("fix") or {}).get("versions") or [""]
    return Vulnerability(
        id=best_name(names),
        names=tuple(names),
        component=_component(str(artifact.get("type", "")), artifact["name"], artifact["version"]),
        rating=Rating(
            severity=in_words(vulnerability.get("severity", "")), score=max(scores, default=None)
        ),
        fixed=fixes[0],
    )


def _trivy(document: Any) -> list[Vulnerability]:
    return in_order(_of_results(document))


def _of_results(document: Mapping[str, Any]) -> Iterator[Vulnerability]:
    for result in document.get("Results") or ():
        for each in result.get("Vulnerabilities") or ():
            names = sorted({each["VulnerabilityID"], *(each.get("VendorIDs") or ())})
            yield Vulnerability(
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


def scan_with(scanner: Scanner, document: Mapping[str, Any], name: str) -> list[Vulnerability]:
    """What ``scanner`` finds in the SBOM ``document`` of the image ``name``.

    Raises:
        EngineError: the scanner is not installed, fails, or prints something else than it should.
    """
    if not shutil.which(scanner.name):
        fix = "Install it, or name a database with --database in place of --with."
        raise EngineError(Problem(what=f"{scanner.name} is not installed.", fix=fix))
    with tempfile.TemporaryDirectory(prefix="cannery-scan-") as folder:
        bill, report = Path(folder) / "sbom.spdx.json", Path(folder) / "report.json"
        try:
            bill.write_text(json.dumps(document), encoding="utf-8")
            console.say(f"scanning {name} with {scanner.name}")
            argv = [*scanner.command, scanner.output, str(report), f"{scanner.prefix}{bill}"]
            # Not in the user's folder, where a .trivyignore would hide findings.
            code, said = run(argv, cwd=Path(folder), capture=True)
            if code:
                what = f"{scanner.name} could not scan {name} (exit code {code}):"
                raise EngineError(f"{what}\n{said.strip()[-2000:]}")
            content = report.read_bytes()
        except OSError as error:
            raise file_error("read", Path(error.filename or report), error) from error
    try:
        return scanner.read(read_json(content, f"the report of {scanner.name}"))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"the report of {scanner.name} has another form than expected: {error!r}."
        raise EngineError(Problem(what=what, fix=f"Update {scanner.name}.")) from error
