# SPDX-License-Identifier: Apache-2.0
"""``build.py check``: whether the targets of matrix.yaml are known to work."""

from __future__ import annotations

from cannery.cli.common import read
from cannery.cli.judging import judged, show
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.matrix import CheckOptions
from cannery.report.judged import summary


def run(given: Given, project: Project) -> int:
    """Print how many targets were checked, what is unverified, and what sources disagree on.

    Raises:
        MatrixError, UsageError, FileError: as ``judged``.
    """
    options = read(CheckOptions, given, project)
    return show(
        lambda: judged(project, options.targets, options.where),
        lambda found: "\n".join(summary(found)),
        as_json=options.format == "json",
    )
