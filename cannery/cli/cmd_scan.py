# SPDX-License-Identifier: Apache-2.0
"""``build.py scan``: known vulnerabilities in the packages of images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command, Given
from cannery.cli.common import existing, read
from cannery.common import console
from cannery.common.clock import now
from cannery.common.errors import Problem, UsageError, VulnerabilityError
from cannery.common.files import write_files
from cannery.common.option import OptionSet, flag, option
from cannery.matrix.project import Project
from cannery.options import CA
from cannery.publish.bills import bills, published_bills
from cannery.publish.scan.advisories import Severity
from cannery.publish.scan.advisory_download import require_files
from cannery.publish.scan.exceptions import Exempted, read_exceptions
from cannery.publish.scan.reports import (
    failing_names,
    failing_packages,
    scan_json,
    scan_sarif,
    scan_text,
)
from cannery.publish.scan.result import Rules, Scan, scan_with_database, scan_with_scanner


@dataclass(frozen=True, kw_only=True)
class ScanOptions(OptionSet):
    """What is scanned, with which advisories, and what becomes of the result."""

    names: tuple[str, ...] = option(
        "a target or a pattern such as 'py39-*', a local image, an image in a registry, "
        "or an SBOM file (SPDX or CycloneDX as JSON)",
        default=(),
        positional=True,
        metavar="NAME",
        count="*",
    )
    published: bool = flag(
        "scan the newest published image of the named targets, or of all, by the SBOM in "
        "its registry"
    )
    databases: tuple[str, ...] = option(
        "advisories in OSV's format: a file, a folder, a zip archive, or a server that "
        "has OSV's archives as ECOSYSTEM/all.zip",
        default=(),
        flags=("--database",),
        metavar="PATH|URL",
    )
    scanner: str = option(
        "scan with this program and its own database instead",
        default="",
        flags=("--with",),
        choices=("grype", "trivy"),
        conflicts=("databases",),
    )
    exceptions: Path | None = option(
        "vulnerabilities that are accepted, each with a reason and its last day",
        default=None,
        metavar="FILE",
        default_text="exceptions.yaml of the checkout, if there is one",
    )
    fail_on: str = option(
        "exit with code 14 for a vulnerability of this severity or a worse one",
        default="high",
        choices=("critical", "high", "medium", "low", "unknown", "never"),
    )
    fixable: bool = flag("leave out vulnerabilities that no version of the package fixes yet")
    format: str = option(
        "a table; or only the names of what has a vulnerability that --fail-on is about, "
        "or of its Python packages that have one, one a line, with the table on stderr",
        default="table",
        choices=("table", "names", "packages"),
    )
    json: Path | None = option("write the report as JSON", default=None, metavar="FILE")
    sarif: Path | None = option(
        "write the report as SARIF, for code scanning", default=None, metavar="FILE"
    )
    ca: Path | None = CA.field(help="certificates to trust for the database and the registry")


COMMAND = Command(
    description="Compares the packages in the SBOM of targets, images or SBOM files with a "
    "database of advisories in OSV's format, or lets grype or trivy do so. Leaves out what a "
    "file of exceptions accepts for a time. Exits with code 14 if something as severe as "
    "--fail-on is left, or if an exception has expired. See docs/security.md.",
    reads="images of the engine, images/, releases/, the registry, exceptions.yaml, and the "
    "database",
    writes="nothing but the files of --json and --sarif",
    example="scan py39-torch231-cann8t39 --database DIR --fail-on critical",
    options=(ScanOptions,),
    one_of=("names", "published"),
)


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
    require_files(options.databases)
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
