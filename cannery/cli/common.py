# SPDX-License-Identifier: Apache-2.0
"""The selection of targets, and results as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable

from cannery.cli import results
from cannery.common import program
from cannery.common.model import Target
from cannery.compat.check_report import Judged, document
from cannery.matrix.project import Project, select
from cannery.matrix.settings import with_bases
from cannery.options import TargetOptions


def selected(options: TargetOptions, project: Project) -> list[Target]:
    """The targets that the user named; all of them where none was named, less those left out.

    Their bases are only from where the option ``bases`` allows.
    """
    targets = select(project.matrix(), options.targets, options.where)
    return with_bases(targets, getattr(options, "bases", "any"))


def judged(options: TargetOptions, project: Project) -> Judged:
    """The selected targets with their findings."""
    matrix = project.matrix()
    return [(target, matrix.findings[target.id]) for target in selected(options, project)]


def show(targets: Judged, shown: Callable[[Judged], str], *, as_json: bool) -> None:
    """Print ``targets`` as text or as JSON."""
    if as_json:
        results.show(document(targets))
    else:
        print(program.text(shown(targets)))
