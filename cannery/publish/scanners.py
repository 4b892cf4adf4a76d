# SPDX-License-Identifier: Apache-2.0
"""Runs a vulnerability scanner on an SBOM: grype, trivy or osv-scanner."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cannery.common.errors import EngineError, FileError, Problem
from cannery.common.process import run
from cannery.publish.bills import NamedBill

SEVERITIES = ("critical", "high", "medium", "low")
SCANNERS = {"grype": 2, "trivy": 14, "osv-scanner": 1}
"""Scanners with their exit code for vulnerabilities: trivy's is given to it."""


def find_scanner(name: str) -> str:
    """The scanner ``name``, or without a name the first one that is installed."""
    if scanner := next(filter(shutil.which, [name] if name else SCANNERS), ""):
        return scanner
    what = f"{name} is not installed." if name else "no vulnerability scanner is installed."
    fix = "Put grype, trivy or osv-scanner on PATH: docs/security.md says where to get them."
    raise EngineError(Problem(what=what, fix=fix))


def scan(
    scanner: str, bill: NamedBill, vex: Mapping[str, Any], fail_on: str, *, fixable: bool
) -> tuple[bool, str]:
    """Whether the scanner finds vulnerabilities as severe as ``fail_on``, and its output."""
    sbom: Any = bill.document
    if isinstance(sbom, dict) and isinstance(sbom.get("predicate"), dict):
        sbom = sbom["predicate"]  # of an attestation
    if not isinstance(sbom, dict) or not {"spdxVersion", "bomFormat"} & sbom.keys():
        fix = "Name an SBOM as JSON, of SPDX 2 or CycloneDX."
        raise FileError(Problem(what=f"{bill.name} is not an SBOM.", fix=fix))
    with tempfile.TemporaryDirectory(prefix="cannery-scan-") as temporary:
        # osv-scanner knows the format by the name.
        path = Path(temporary, "bom.cdx.json" if "bomFormat" in sbom else "bom.spdx.json")
        exceptions = Path(temporary, "exceptions.openvex.json")
        path.write_text(json.dumps(sbom), encoding="utf-8")
        exceptions.write_text(json.dumps(vex), encoding="utf-8")
        options = _options(scanner, path, fail_on, fixable=fixable)
        if vex["statements"]:
            options += ["--vex", str(exceptions)]
        # Not in the user's folder, where a .trivyignore or .grype.yaml would hide results.
        code, output = run([scanner, *options], cwd=path.parent, capture=True)
    if code not in (0, SCANNERS[scanner]):
        raise EngineError(f"{scanner} failed (exit code {code}):\n{output.strip()[-2000:]}")
    return bool(code) and fail_on != "never", output


def _options(scanner: str, path: Path, fail_on: str, *, fixable: bool) -> list[str]:
    limit = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != "never" else ()
    if scanner == "grype":
        options = [f"sbom:{path}", "--quiet", *(["--fail-on", fail_on] if limit else [])]
        return options + (["--only-fixed"] if fixable else [])
    if scanner == "trivy":
        options = ["sbom", str(path), "--quiet", "--exit-code", str(SCANNERS[scanner])]
        options += ["--severity", ",".join(limit).upper()] if limit else []
        # Without the system, trivy leaves out its packages; only trivy's own SBOMs name it.
        match = re.search(r"[?&]distro=([a-z]+)-([0-9.]+)", path.read_text(encoding="utf-8"))
        options += ["--distro", f"{match[1]}/{match[2]}"] if match else []
        return options + (["--ignore-unfixed"] if fixable else [])
    return ["scan", "source", "--lockfile", str(path)]
