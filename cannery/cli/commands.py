# SPDX-License-Identifier: Apache-2.0
"""All commands, in the order of the help. The file of NAME is ``cannery/cli/cmd_NAME.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module

from cannery.cli.command import Command

GROUPS: Mapping[str, Mapping[str, str]] = {
    "choose": {
        "list": "show the targets",
        "explain": "show the source that allows each component of a target",
        "check": "check that the versions of the targets are known to work together",
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
