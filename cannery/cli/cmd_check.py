# SPDX-License-Identifier: Apache-2.0
"""``build.py check``: whether the targets of matrix.yaml are known to work."""

from __future__ import annotations

from cannery.cli.common import read
from cannery.compat import OWN_FACTS, judge, load_compat
from cannery.errors import some_of
from cannery.matrix.project import Project, select
from cannery.options.given import Given
from cannery.options.shared import TargetOptions
from cannery.report.judged import summary


def run(given: Given, project: Project) -> int:
    """Print how many targets were checked, what is unverified, and what sources disagree on.

    Where all targets were checked, the definitions that none of them uses are named too.

    Raises:
        MatrixError: with everything that is wrong, each with its line.
        UsageError, FileError: as ``select`` and ``load_matrix``.
    """
    options = read(TargetOptions, given, project)
    matrix = project.matrix()
    targets = select(matrix, options.targets or ["*"], options.where)
    compat = load_compat(project.root / OWN_FACTS.name)
    for line in summary([(target, judge(target, compat)) for target in targets]):
        print(line)
    if matrix.unused and len(targets) == len(matrix.targets):
        print(f"No target uses {some_of(matrix.unused, 20)}.")
    return 0
