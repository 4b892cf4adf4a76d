# SPDX-License-Identifier: Apache-2.0
"""The options of ``scan``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cannery.options.option import OptionSet, changed, option
from cannery.options.shared import CA


@dataclass(frozen=True, kw_only=True)
class ScanOptions(OptionSet):
    """What is scanned, with which advisories, and what becomes of the result."""

    names: tuple[str, ...] = field(
        default=(),
        metadata=option(
            positional=True,
            metavar="NAME",
            count="*",
            help="a target or a pattern such as 'py39-*', a local image, an image in a registry, "
            "or an SBOM file (SPDX or CycloneDX as JSON)",
        ),
    )
    published: bool = field(
        default=False,
        metadata=option(
            help="scan the newest published image of the named targets, or of all, by the SBOM in "
            "its registry",
        ),
    )
    databases: tuple[str, ...] = field(
        default=(),
        metadata=option(
            flags=("--database",),
            metavar="PATH|URL",
            help="advisories in OSV's format: a file, a folder, a zip archive, or a server that "
            "has OSV's archives as ECOSYSTEM/all.zip",
        ),
    )
    scanner: str = field(
        default="",
        metadata=option(
            flags=("--with",),
            choices=("grype", "trivy"),
            conflicts=("databases",),
            help="scan with this program and its own database instead",
        ),
    )
    exceptions: Path | None = field(
        default=None,
        metadata=option(
            metavar="FILE",
            help="vulnerabilities that are accepted, each with a reason and its last day",
            default_text="exceptions.yaml of the checkout, if there is one",
        ),
    )
    fail_on: str = field(
        default="high",
        metadata=option(
            choices=("critical", "high", "medium", "low", "unknown", "never"),
            help="exit with code 14 for a vulnerability of this severity or a worse one",
        ),
    )
    fixable: bool = field(
        default=False,
        metadata=option(help="leave out vulnerabilities that no version of the package fixes yet"),
    )
    format: str = field(
        default="table",
        metadata=option(
            choices=("table", "names", "packages"),
            help="a table; or only the names of what has a vulnerability that --fail-on is about, "
            "or of its Python packages that have one, one a line, with the table on stderr",
        ),
    )
    json: Path | None = field(
        default=None, metadata=option(metavar="FILE", help="write the report as JSON")
    )
    sarif: Path | None = field(
        default=None,
        metadata=option(metavar="FILE", help="write the report as SARIF, for code scanning"),
    )
    ca: Path | None = field(
        default=None,
        metadata=changed(CA, help="certificates to trust for the database and the registry"),
    )
