# SPDX-License-Identifier: Apache-2.0
"""``build.py check``: whether the targets of matrix.yaml are known to work."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cannery.cli.command import Command
from cannery.cli.common import judged, show
from cannery.common.errors import MatrixError, Problem, counted, some_of
from cannery.common.files import now
from cannery.compat.check_report import Judged, outdated, require_read, summary
from cannery.lock.lock_file import contradictions, read_lock
from cannery.lock.lock_rules import lock_problems
from cannery.matrix.project import Project
from cannery.options import FORMAT, TargetOptions
from cannery.publish.exceptions import EXCEPTIONS, read_exceptions
from cannery.publish.policy import load


@dataclass(frozen=True, kw_only=True)
class CheckOptions(TargetOptions):
    """Which targets are checked, and how that is shown."""

    format: str = FORMAT.field()


COMMAND = Command(
    description="Compares every target with the facts in compat.yaml about torch, torch_npu, "
    "CANN, Python, NNAL, apex, DeepSpeed, wheels in package indexes and packages, also those that "
    "only a lock has, and with the metadata of its locked wheels. For each conflict, names the "
    "reason, the source and the nearest known combinations. Builds nothing and needs no engine.",
    reads=f"matrix.yaml, compat.yaml, the locks in images/, and {EXCEPTIONS}",
    writes="nothing",
    example="check --target 'py39-*' --format json",
    options=CheckOptions,
)


def run(options: CheckOptions, project: Project) -> None:
    """Print how many targets were checked, what is unverified, and what sources disagree on.

    Warnings are: an end of maintenance, a source that was read long ago, and an expired exception
    of scan. Where all targets were checked, the definitions that none of them uses are named, too.
    """
    today = now()[:10]
    expired = [f"warning: {problem}" for problem in read_exceptions(project.root, today)[1]]

    def find() -> Judged:
        try:
            matrix = project.matrix()
        except MatrixError as error:
            raise MatrixError(_concerning(error.problems, options.targets)) from error
        load(project.publish_file, matrix)
        require_read(project.compat().sources.values(), today)
        targets = judged(options, project)
        problems: list[Problem] = []
        for target, _ in targets:
            # 'render' and 'sync' say what is wrong with a lock.
            with suppress(MatrixError):
                lock = read_lock(project, target)
                problems += contradictions(target, lock)
                problems += lock_problems(target, lock, project.compat())
        if problems:
            raise MatrixError(problems)
        return targets

    def text(targets: Judged) -> str:
        compat = project.compat()
        sources = [s for s in compat.sources.values() if s.is_own or project.is_checkout]
        aged = outdated(sources, today, compat.absences)
        matrix = project.matrix()
        every = len(targets) == len(matrix.targets)
        unused = (
            [f"No target uses {some_of(matrix.unused, 20)}."] if matrix.unused and every else []
        )
        return "\n".join([*summary(targets, today), *aged, *unused, *expired])

    show(find(), text, as_json=options.format == "json")


def _concerning(problems: Sequence[Problem], patterns: Sequence[str]) -> list[Problem]:
    """Those of ``problems`` with the targets of ``patterns``, and how many there are with others.

    Without ``patterns`` these are all.
    """
    kept, others = list[Problem](), list[Problem]()
    for problem in problems:
        names = problem.targets if patterns else ()
        matching = [name for name in names for each in patterns if fnmatchcase(name, each)]
        (others if names and not matching else kept).append(problem)
    if others:
        what = f"{counted(len(others), 'problem')} of other targets, here is the first."
        fix = "'python build.py check' names all."
        kept.append(Problem(what=what, fix=fix, where=others[0].where))
    return kept
