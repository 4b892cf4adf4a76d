# SPDX-License-Identifier: Apache-2.0
"""All commands, in the order of the help, and those that were removed.

The file of NAME is ``cannery/cli/cmd_NAME.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module

from cannery.cli.command import Command
from cannery.common.errors import Problem

GROUPS: Mapping[str, Mapping[str, str]] = {
    "choose": {
        "list": "show the targets",
        "explain": "show the source that allows each component of a target",
        "check": "compare versions of the targets with what is known to work",
        "new": "propose a target that is known to work",
    },
    "build": {
        "build": "build images, check them, and tag those that pass",
        "fetch": "download CANN's files; list or remove those that were fetched",
        "bundle": "pack what a build needs into a file for a machine without network",
        "test": "check images that are already built, of any origin",
        "run": "start a container with the devices and mounts that it needs",
        "diff": "compare two images, records or commits",
    },
    "publish": {
        "push": "publish images that are built and checked",
        "promote": "copy a published image to another registry or tag",
        "scan": "look for known vulnerabilities in the packages of images",
    },
    "maintain": {
        "sync": "after a change of matrix.yaml: lock, render and catalog in one go",
        "lock": "resolve the Python packages of the targets and pin them",
        "render": "write images/ from matrix.yaml and the locks",
        "update": "show newer versions in the package index",
        "catalog": "write the table of images",
        "ci": "print the jobs of a CI run",
    },
    "other": {
        "init": "make a project of your own in an empty folder",
        "config": "show the settings, and where each is from",
        "doctor": "find what is wrong with this host, or with a failed run",
    },
}
"""Heading to name to summary. Beside its line here, a command is its file alone."""

UNLISTED: Mapping[str, str] = {
    "completion": "print the script with which bash or zsh completes words",
}

SUMMARIES = {n: s for group in (*GROUPS.values(), UNLISTED) for n, s in group.items()}


def load(name: str) -> Command:
    """The command ``name``, which must be one of SUMMARIES.

    Only the file of that command is imported, with what it needs.
    """
    module = import_module(f"cannery.cli.cmd_{name}")
    command: Command = module.COMMAND
    return replace(command, name=name, summary=SUMMARIES[name], carry_out=module.run)


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
"""A command, or a command and its long option as in ``build --resume``, to a sentence.

They are usage errors in 0.2 that name the replacement; 0.3 removes them.
"""


def removal(command: str, flag: str = "") -> Problem | None:
    """The problem of a removed ``command``, or of its removed option ``flag``."""
    fix = REMOVED.get(f"{command} {flag}".rstrip())
    return Problem(what=f"{flag or command!r} was removed.", fix=fix) if fix else None
