# SPDX-License-Identifier: Apache-2.0
"""Commands and options that were removed after 0.1, and their replacements.

They are usage errors in 0.2 that name the replacement; 0.3 removes this file.
"""

from __future__ import annotations

from cannery.common.errors import Problem

REMOVED: dict[str, str] = {
    **{
        name: f"Use 'build.py doctor {name}'."
        for name in ("align", "nan-hunt", "ranktable", "smoke", "stuck")
    },
    "build --resume": "Run the same command again: images that are up to date are skipped.",
    "cache": "Use 'build.py fetch --stored', or 'build.py fetch --prune DAYS'.",
    "catalog --out": "Use 'build.py list --format json --verbose' and site/make.py.",
    "catalog --notes": "Use 'build.py diff A B' with two files below releases/.",
    "notes": "Use 'build.py diff A B' with two files below releases/.",
    "prune": "Use the registry's own retention; docs/publish.md says what it must keep.",
    "reproduce": "Use 'build.py build ID --force', then 'build.py diff REF ID'; see "
    "docs/security.md.",
    "scan --database": "Use --with: grype, trivy and osv-scanner have databases of their own.",
    "scan --exceptions": "Write exceptions.openvex.json; see docs/security.md.",
    **{
        f"scan --{name}": "Run the scanner itself on the SBOM for other formats."
        for name in ("format", "json", "sarif")
    },
    "test --sarif": "Use --junit or --json.",
    "test --dockerfile": "Use --junit or --json.",
    "update --kind": "Use 'build.py update --new'; 'build.py check' names what is not maintained.",
    "update --snapshot": "Name the base by its digest, as 'build.py update --bases --write' does.",
}
"""A command, or a command and its long option as in ``build --resume``, to a sentence."""


def removal(command: str, flag: str = "") -> Problem | None:
    """The problem of a removed ``command``, or of its removed option ``flag``."""
    fix = REMOVED.get(f"{command} {flag}".rstrip())
    return Problem(what=f"{flag or command!r} was removed.", fix=fix) if fix else None
