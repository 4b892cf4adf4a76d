# SPDX-License-Identifier: Apache-2.0
"""The selection of targets, and results as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable

from cannery.common.errors import CanneryError
from cannery.common.model import Target
from cannery.compat.check_report import Judged, to_json
from cannery.matrix.project import Project, select
from cannery.options import TargetOptions


def selected(options: TargetOptions, project: Project) -> list[Target]:
    """The targets that the user named; all of them where none was named, less those left out."""
    return select(project.matrix(), options.targets, options.where)


def judged(options: TargetOptions, project: Project) -> Judged:
    """The selected targets with their findings."""
    matrix = project.matrix()
    return [(target, matrix.findings[target.id]) for target in selected(options, project)]


def show(find: Callable[[], Judged], shown: Callable[[Judged], str], *, as_json: bool) -> None:
    """Print the result of ``find`` as text, or as JSON, which has errors, too."""
    if not as_json:
        print(shown(find()))
        return
    try:
        result = find()
    except CanneryError as error:
        print(to_json([], error.problems))
        raise
    print(to_json(result))
