# SPDX-License-Identifier: Apache-2.0
"""compat.yaml's rows about packages, for all that a lock has, whoever wants it."""

from __future__ import annotations

from cannery.common.errors import Problem, Span, enumerated
from cannery.common.model import Target
from cannery.compat import passes
from cannery.compat.facts import Compat
from cannery.compat.locked_rules import judge_locked
from cannery.lock.lock_file import Lock


def lock_problems(
    target: Target, lock: Lock, compat: Compat, where: Span | None = None
) -> list[Problem]:
    """What must not be in the image of ``target``, or is not known to work there.

    Each is at ``where``, or else at the package's line of the committed lock.
    """
    problems = []
    for finding in judge_locked(target, compat, lock.versions):
        if passes(finding, target):
            continue
        wheel = lock.by_name[finding.component]
        source = f" Source: {finding.rows[0].cited}." if finding.rows else ""
        what = f"{target.id}: {finding.text}{source}"
        if wheel.parents:
            what += f" It is locked for {enumerated(sorted(wheel.parents))}."
        line = lock.line_of(wheel)
        place = where or Span(file=f"images/{target.id}/requirements.lock", line=line, column=1)
        fix = f"{finding.fix} Then run 'python build.py lock --target {target.id}'."
        problems.append(Problem(what=what, fix=fix, where=place))
    return problems
