# SPDX-License-Identifier: Apache-2.0
"""What ``check`` and ``explain`` have in common: judging targets, and a document for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cannery.compat import judge
from cannery.errors import CanneryError
from cannery.matrix.project import Project, select
from cannery.report.judged import Judged
from cannery.report.judged_json import to_json


def judged(project: Project, patterns: Sequence[str], where: Sequence[str]) -> Judged:
    """The targets that match ``patterns``, or all if there is none, with what is known of them.

    Raises:
        MatrixError: with everything that is wrong, each with its line.
        UsageError, FileError: as ``select`` and ``Project.compat``.
    """
    targets = select(project.matrix(), patterns or ["*"], where)
    compat = project.compat()
    return [(target, judge(target, compat)) for target in targets]


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
