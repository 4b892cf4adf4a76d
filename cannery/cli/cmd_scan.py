# SPDX-License-Identifier: Apache-2.0
"""``build.py scan``: known vulnerabilities in the packages of images."""

from __future__ import annotations

from pathlib import Path

from cannery.cli.common import existing, read
from cannery.common import console
from cannery.common.clock import now
from cannery.common.errors import Problem, UsageError, VulnerabilityError
from cannery.common.files import write_files
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.scan import ScanOptions
from cannery.publish.bills import bills, published_bills
from cannery.publish.scan.exceptions import Exempted, read_exceptions
from cannery.publish.scan.json_report import scan_json
from cannery.publish.scan.result import Scan
from cannery.publish.scan.sarif_report import scan_sarif
from cannery.publish.scan.scan import Rules, scan_with_database, scan_with_scanner
from cannery.publish.scan.severity import Severity
from cannery.publish.scan.text_report import failing_names, failing_packages, scan_text

_EXCEPTIONS = "exceptions.yaml"


def run(given: Given, project: Project) -> int:
    """Print what was found; the exit code is 14 if it is as severe as --fail-on says.

    Raises:
        UsageError: there is nothing of a name, or neither a database nor a scanner is named.
        EngineError: an engine, a registry, a server or a scanner does not answer.
        MatrixError, FileError: a file is wrong, or cannot be read or written.
    """
    options = read(ScanOptions, given, project)
    if not options.databases and not options.scanner:
        fix = "Name one with --database, or a scanner with --with; see docs/security.md."
        raise UsageError(Problem(what="no database of advisories is named.", fix=fix))
    rules = _rules(options, project)
    ca = existing(options.ca)
    named = (published_bills if options.published else bills)(project, options.names, ca)
    if options.scanner:
        scan = scan_with_scanner(named, options.scanner, rules)
    else:
        scan = scan_with_database(named, options.databases, rules, ca)
    _write(scan, options, project)
    _print(scan, options.format)
    return VulnerabilityError.exit_code if scan.is_failure else 0


def _rules(options: ScanOptions, project: Project) -> Rules:
    path = options.exceptions or project.root / _EXCEPTIONS
    exceptions: tuple[Exempted, ...] = ()
    if options.exceptions or path.exists():
        exceptions = read_exceptions(path)
    return Rules(
        threshold=None if options.fail_on == "never" else Severity(options.fail_on),
        fixable=options.fixable,
        exceptions=exceptions,
        file=path.name,
        today=now()[:10],
    )


def _print(scan: Scan, form: str) -> None:
    if form == "table":
        print(scan_text(scan, console.width()))
        return
    console.show(scan_text(scan, 0) + "\n")
    for name in (failing_names if form == "names" else failing_packages)(scan):
        print(name)


def _write(scan: Scan, options: ScanOptions, project: Project) -> None:
    files: dict[Path, str] = {}
    if options.json:
        files[options.json.absolute()] = scan_json(scan)
    if options.sarif:
        file = project.matrix_file.name
        files[options.sarif.absolute()] = scan_sarif(scan, file)
    write_files(files)
