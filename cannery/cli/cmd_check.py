# SPDX-License-Identifier: Apache-2.0
"""``build.py check``: whether the targets of matrix.yaml are known to work."""

from __future__ import annotations

from cannery.cli.common import read, selected
from cannery.compat import OWN_FACTS, judge, load_compat
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.shared import TargetOptions
from cannery.report.judged import summary


def run(given: Given, project: Project) -> int:
    """Print how many targets were checked, what is unverified, and what sources disagree on.

    Raises:
        MatrixError: with everything that is wrong, each with its line.
        UsageError, FileError: as ``selected``.
    """
    targets = selected(read(TargetOptions, given, project), project)
    compat = load_compat(project.root / OWN_FACTS.name)
    for line in summary([(target, judge(target, compat)) for target in targets]):
        print(line)
    return 0
