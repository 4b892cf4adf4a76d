# SPDX-License-Identifier: Apache-2.0
"""Runs a scanner, such as grype or trivy, on a software bill of materials."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cannery.common import console
from cannery.common.errors import EngineError, Problem, file_error
from cannery.common.process import run
from cannery.publish.scan.advisory_download import read_json
from cannery.publish.scan.findings import Finding
from cannery.publish.scan.scanners import Scanner


def scan_with(scanner: Scanner, document: Mapping[str, Any], name: str) -> list[Finding]:
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
