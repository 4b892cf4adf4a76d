# SPDX-License-Identifier: Apache-2.0
"""What ``check`` and ``explain`` have in common: judging targets, and a document for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cannery.common.errors import CanneryError
from cannery.compat.check_document import FindingDocument, TargetDocument, target_document, to_json
from cannery.compat.check_report import Judged
from cannery.matrix.project import Project


def judged(project: Project, patterns: Sequence[str], where: Sequence[str]) -> Judged:
    """The targets that match ``patterns``, or all if there is none, with what is known of them.

    All are judged at once, and what is known of them is kept until a file changes.

    Raises:
        MatrixError: with everything that is wrong, each with its line.
        UsageError, FileError: as ``select`` and ``Project.compat``.
    """
    names = project.selected_ids(patterns or ["*"], where)
    found = project.cache.computed("judged", project.inputs(), lambda: _every(project))
    targets: list[TargetDocument] = [found["targets"][name] for name in names]
    for each in targets:
        each["findings"] = [found["findings"][number] for number in each["findings"]]
    return targets


def _every(project: Project) -> dict[str, Any]:
    """Every target by its id, with the numbers of its findings, which many targets share."""
    # Imported here, because it takes half of the time of an explanation.
    from cannery.compat import judge

    compat = project.compat()
    targets: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    findings: list[FindingDocument] = []
    for name, target in project.matrix().targets.items():
        document = target_document(target, judge(target, compat))
        targets[name] = {**document, "findings": []}
        for each in document["findings"]:
            if (number := numbers.setdefault(repr(each), len(findings))) == len(findings):
                findings.append(each)
            targets[name]["findings"].append(number)
    return {"targets": targets, "findings": findings}


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
