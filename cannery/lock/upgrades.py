# SPDX-License-Identifier: Apache-2.0
"""Checks the packages that are to be upgraded in locks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from packaging.requirements import InvalidRequirement

from cannery.common.errors import MatrixError, Problem, UsageError, closest
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.common.specifiers import normal_name, parse_requirement, parse_requirements
from cannery.lock.lock_file import parse_lock
from cannery.lock.requirements import build_requirement_groups, requirement_groups
from cannery.matrix.project import Project


def check_upgrades(project: Project, targets: Iterable[Target], upgrade: Iterable[str]) -> None:
    """Check that each package of ``upgrade``, a name or a requirement, is in a lock.

    Raises:
        UsageError: with every one that is not.
    """
    if not (wanted := list(upgrade)):
        return
    known = {name for target in targets for name in _packages(project, target)}
    problems = []
    for text in wanted:
        try:
            name = normal_name(parse_requirement(text).name)
        except InvalidRequirement:
            what = f"{text!r} is not the name of a package."
            problems.append(Problem(what=what, fix="Write it as in numpy, or numpy<2."))
            continue
        if name not in known:
            near = closest(name, known)
            hint = f"Did you mean {near!r}?" if near else ""
            what = f"no selected target has a package {text!r} in its lock."
            problems.append(Problem(what=what, fix=hint))
    if problems:
        raise UsageError(problems)


def _packages(project: Project, target: Target) -> Iterator[str]:
    """The packages of a target: those that it requires, and all in its lock."""
    groups = (requirement_groups(target), build_requirement_groups(target))
    for texts in (texts for each in groups for texts in each.values()):
        yield from (normal_name(each.name) for each in parse_requirements(texts))
    for path in (project.lock(target), project.build_requirements_lock(target)):
        if path.exists():
            # A line that is wrong is told when the target is locked.
            with suppress(MatrixError):
                yield from (wheel.name for wheel in parse_lock(read_text(path)).wheels)
