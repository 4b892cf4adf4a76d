# SPDX-License-Identifier: Apache-2.0
"""``build.py explain``: the sources that allow each component of a target."""

from __future__ import annotations

from cannery.cli.common import read
from cannery.cli.judging import judged, show
from cannery.compat.check_report import explanation
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.matrix import ExplainOptions

_WIDTH = 100


def run(given: Given, project: Project) -> int:
    """Print every finding on the named targets, with the rows for it and those against it.

    Raises:
        MatrixError, UsageError, FileError: as ``judged``.
    """
    options = read(ExplainOptions, given, project)
    return show(
        lambda: judged(project, [*options.names, *options.targets], options.where),
        lambda found: "\n\n".join(explanation(each, _WIDTH) for each in found),
        as_json=options.format == "json",
    )
