# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan, or reports why there is nothing to build."""

from __future__ import annotations

from cannery import console
from cannery.errors import raise_all
from cannery.matrix.project import Project
from cannery.options.build import BuildOptions
from cannery.pipeline.planning import Planned
from cannery.pipeline.selection import Selection
from cannery.plan.journal import Journal
from cannery.plan.plan import Action
from cannery.report.verified import read_verified


def build_all(
    project: Project,
    selection: Selection,
    options: BuildOptions,
    planned: Planned,
    journal: Journal,
) -> None:
    """Carry out ``planned``, and store in ``journal`` how far each target gets.

    Raises:
        CanneryError: one or more targets failed; see docs/exit-codes.md.
    """
    if options.record:
        # Read now, so that an invalid file is not found only after hours of building.
        read_verified(project.root, [target.id for target in selection.targets])
    single = len(selection.targets) == 1
    if not planned.plan.of(Action.BUILD, Action.VERIFY):
        _nothing_to_do(planned, single=single)
        return
    # Imported here, because that would double the time of a run in which nothing is to be built.
    from cannery.pipeline.running import carry_out

    raise_all(carry_out(project, selection, options, planned, journal), single=single)


def _nothing_to_do(planned: Planned, *, single: bool) -> None:
    steps = planned.plan.steps
    done = [step for step in steps if step.id not in planned.unavailable]
    for step in steps:
        console.say(f"{step.id}: {step.why}")
    if not steps and not planned.failures:
        console.say(f"shard {planned.plan.shard} has no targets")
    elif not done:
        raise_all(planned.unavailable | planned.failures, single=single)
    raise_all(planned.failures, single=single)
