# SPDX-License-Identifier: Apache-2.0
"""``build.py explain``: the sources that allow each component of a target."""

from __future__ import annotations

from cannery.cli.common import read
from cannery.compat import OWN_FACTS, judge, load_compat
from cannery.matrix.project import Project, select
from cannery.options.given import Given
from cannery.options.matrix import ExplainOptions
from cannery.report.judged import explained

_WIDTH = 100


def run(given: Given, project: Project) -> int:
    """Print every finding on the named targets, with the rows for it and those against it.

    Raises:
        MatrixError, UsageError, FileError: as ``select`` and ``load_compat``.
    """
    options = read(ExplainOptions, given, project)
    patterns = [*options.names, *options.targets] or ["*"]
    targets = select(project.matrix(), patterns, options.where)
    compat = load_compat(project.root / OWN_FACTS.name)
    for number, target in enumerate(targets):
        if number:
            print()
        print(f"{target.id}: {target.summary}")
        if target.unverified:
            print(f"  UNVERIFIED: {target.unverified}")
        if target.cann.interim:
            public = target.cann.nearest_public
            print(f"  CANN {target.cann.version} is an interim build; it is judged as {public}.")
        for finding in judge(target, compat):
            for line in explained(finding, _WIDTH):
                print(line)
    return 0
