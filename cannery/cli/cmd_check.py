# SPDX-License-Identifier: Apache-2.0
"""``build.py check``: whether the targets of matrix.yaml are known to work."""

from __future__ import annotations

from dataclasses import dataclass

from cannery.cli.command import Command, Given
from cannery.cli.common import judged, read, show
from cannery.common.errors import MatrixError, Problem, some_of
from cannery.common.files import now
from cannery.common.model import Target
from cannery.compat.check_report import Judged, outdated, require_read, summary
from cannery.lock.lock_file import contradictions, read_lock
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
    "CANN, Python, NNAL, apex, DeepSpeed and their packages, and with the metadata of its locked "
    "wheels. For each conflict, names the reason, the source and the nearest known combinations. "
    "Builds nothing and needs no engine.",
    reads=f"matrix.yaml, compat.yaml, the locks in images/, and {EXCEPTIONS}",
    writes="nothing",
    example="check --target 'py39-*' --format json",
    options=(CheckOptions,),
)


def run(given: Given, project: Project) -> int:
    """Print how many targets were checked, what is unverified, and what sources disagree on.

    What is no longer maintained, a source that was read long ago, and an exception of scan that
    has expired are warnings. Where all
    targets were checked, the definitions that none of them uses are named too.

    Raises:
        MatrixError, UsageError, FileError: as ``judged``, ``require_read`` and, for publish.yaml,
            ``load``. MatrixError too where the metadata of locked wheels contradicts a target.
    """
    options, today = read(CheckOptions, given, project), now()[:10]
    expired = [f"warning: {each}" for each in read_exceptions(project.root, today)[1]]

    def found() -> Judged:
        load(project.publish_file, project.matrix())
        require_read(project.compat().sources.values(), today)
        found = judged(project, options.targets, options.where)
        if problems := [each for target, _ in found for each in _locked_otherwise(project, target)]:
            raise MatrixError(problems)
        return found

    def text(found: Judged) -> str:
        aged = outdated(project.compat().sources.values(), today)
        return "\n".join([*summary(found, today), *aged, *_unused(project, found), *expired])

    return show(found, text, as_json=options.format == "json")


def _locked_otherwise(project: Project, target: Target) -> list[Problem]:
    """Where the metadata of locked wheels contradicts the target; none without a lock."""
    try:
        return contradictions(target, read_lock(project, target))
    except MatrixError:
        # 'render' and 'sync' say what is wrong with a lock.
        return []


def _unused(project: Project, found: Judged) -> list[str]:
    matrix = project.matrix()
    if not matrix.unused or len(found) < len(matrix.targets):
        return []
    return [f"No target uses {some_of(matrix.unused, 20)}."]
