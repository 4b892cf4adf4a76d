# SPDX-License-Identifier: Apache-2.0
"""``build.py scan``: known vulnerabilities in the packages of images."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command
from cannery.common import console
from cannery.common.errors import Problem, UsageError, VulnerabilityError
from cannery.common.files import now
from cannery.common.option import flag, option
from cannery.common.outside import printable
from cannery.matrix.project import Project
from cannery.options import CA, ProxyOptions
from cannery.publish.exceptions import EXCEPTIONS, read_exceptions
from cannery.publish.scan import SCANNERS, SEVERITIES, bills, find_scanner, published_bills, scan


@dataclass(frozen=True, kw_only=True)
class ScanOptions(ProxyOptions):
    """Images or SBOMs, the scanner, and what makes it fail."""

    names: tuple[str, ...] = option(
        "a target or a pattern, an image, or an SBOM file (SPDX or CycloneDX as JSON)",
        default=(),
        positional=True,
        metavar="NAME",
        count="*",
    )
    published: bool = flag("scan the newest published image of the named targets, or of all")
    scanner: str = option(
        "the scanner, by default the first that is installed",
        default="",
        flags=("--with",),
        choices=tuple(SCANNERS),
    )
    fail_on: str = option(
        "exit with code 14 for a vulnerability of this severity or a worse one (osv-scanner: any)",
        default="high",
        choices=(*SEVERITIES, "never"),
    )
    fixable: bool = flag("leave out vulnerabilities that no version of the package fixes yet")
    ca: Path | None = CA.field(help="certificates to trust for the registry")


COMMAND = Command(
    description="Makes the SBOM of targets or images, or takes an SBOM file, and runs grype, "
    "trivy or osv-scanner on it. Passes on the exceptions that have not expired. Exits with code "
    "14 for a vulnerability or an expired exception. See docs/security.md.",
    reads=f"images of the engine, images/, releases/, the registry and {EXCEPTIONS}",
    writes="nothing",
    example="scan py39-torch231-cann8t39 --with grype --fail-on critical",
    options=ScanOptions,
    one_of=("names", "published"),
)


def run(options: ScanOptions, project: Project) -> None:
    """Print the scanner's results; a severe vulnerability is an error."""
    vex, expired = read_exceptions(project.root, now()[:10])
    scanner = find_scanner(options.scanner)
    if scanner == "osv-scanner" and (options.fixable or vex["statements"]):
        fix = f"Use grype or trivy, or leave out --fixable and {EXCEPTIONS}."
        raise UsageError(Problem(what="osv-scanner knows no exceptions and no --fixable.", fix=fix))
    problems = [] if options.fail_on == "never" else expired
    named = published_bills if options.published else bills
    for bill in named(project, options.names, options.ca):
        console.say(f"scanning {bill.name} with {scanner}")
        failing, output = scan(scanner, bill, vex, options.fail_on, fixable=options.fixable)
        print(printable("\n".join([bill.name, *bill.notes, output])))
        if failing:
            problems.append(Problem(what=f"{bill.name} has vulnerabilities that {scanner} lists."))
    if problems:
        raise VulnerabilityError(problems)
