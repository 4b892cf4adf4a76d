# SPDX-License-Identifier: Apache-2.0
"""What ``check`` and ``explain`` have in common: what is known of targets, as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cannery.common.errors import CanneryError
from cannery.compat.check_report import Judged, to_json
from cannery.matrix.project import Project, select


def judged(project: Project, patterns: Sequence[str], where: Sequence[str]) -> Judged:
    """The targets that match ``patterns``, or all if there is none, with what is known of them.

    Raises:
        MatrixError: with everything that is wrong, each with its line.
        UsageError, FileError: as ``select`` and ``Project.matrix``.
    """
    matrix = project.matrix()
    targets = select(matrix, patterns, where)
    return [(each, matrix.findings[each.id]) for each in targets]


def show(find: Callable[[], Judged], shown: Callable[[Judged], str], *, as_json: bool) -> int:
    """Print what ``find`` finds, as ``shown`` has it or as a document, which failures have, too.

    Raises: as ``find``.
    """
    if not as_json:
        print(shown(find()))
        return 0
    try:
        found = find()
    except CanneryError as error:
        print(to_json([], error.problems))
        raise
    print(to_json(found))
    return 0
