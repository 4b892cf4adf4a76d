# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan, or reports why there is nothing to build."""

from __future__ import annotations

from cannery.build.journal import Journal
from cannery.build.plan import Action
from cannery.build.planning import Planned
from cannery.build.ready import bases
from cannery.build.running import carry_out
from cannery.build.selection import Selection, index_of
from cannery.common import console
from cannery.common.errors import ArtifactError, Problem, kind_of, named_problems, raise_all
from cannery.engine.known_bases import Notes
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.verified import read_verified


def build_all(
    project: Project,
    selection: Selection,
    options: BuildOptions,
    planned: Planned,
    journal: Journal,
) -> None:
    """Carry out ``planned``, and store in ``journal`` how far each target gets.

    Raises:
        CanneryError: one or more targets failed; see docs/reference.md.
    """
    if options.record:
        # Read now, so that an invalid file is not found only after hours of building.
        read_verified(project.root, [target.id for target in selection.targets])
    single = len(selection.targets) == 1
    if not planned.plan.with_action(Action.BUILD, Action.VERIFY):
        _nothing_to_do(planned, single=single)
        return
    raise_all(carry_out(project, selection, options, planned, journal), single=single)


def look_up_bases(project: Project, selection: Selection, options: BuildOptions) -> None:
    """Ask registries which images the bases without a digest are now, so that a plan knows it."""
    unpinned = {
        (each.image, architecture): (each, architecture)
        for target in selection.targets
        for each, architecture in bases(target).values()
        if not each.is_pinned
    }
    if not unpinned:
        return
    # Imported here, because most targets have no such base.
    from cannery.engine.base import look_up

    for each in unpinned.values():
        look_up(*each, Notes(state=project.state), index_of(options).ca)


def _nothing_to_do(planned: Planned, *, single: bool) -> None:
    steps = planned.plan.steps
    for step in steps:
        console.say(f"{step.id}: {step.why}")
    if not steps and not planned.failures:
        console.say(f"shard {planned.plan.shard} has no targets")
    left_out = planned.unavailable if _all_left_out(planned) else {}
    raise_all(left_out | planned.failures, single=single)


def raise_for_plan(planned: Planned, *, simulate: bool, single: bool) -> None:
    """Raise the error with whose exit code a build of ``planned`` would end now, if it would fail.

    The plan that the user has already seen says what each target lacks.
    """
    if not _all_left_out(planned):
        raise_all(planned.failures, single=single)
        return
    every = planned.unavailable | planned.failures
    what = f"none of the {len(every)} selected targets can be built."
    if len(every) == 1:
        what = "the selected target cannot be built."
    or_simulate = "" if simulate else ", or add --simulate"
    fix = f"Put the missing files into the folder of --artifacts{or_simulate}."
    lacks_files = any(isinstance(error, ArtifactError) for error in every.values())
    last = Problem(what=what, fix=fix if lacks_files else "")
    raise kind_of(every.values())([*named_problems(planned.failures), last])


def _all_left_out(planned: Planned) -> bool:
    """Whether nothing is left of the plan but targets that lack something."""
    steps = planned.plan.steps
    return bool(steps) and all(step.id in planned.unavailable for step in steps)
