# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan: simulates packages, builds all images, checks each image and names it.

Or reports why there is nothing to build.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

from cannery.building.assembly import Assembly
from cannery.building.bases import bases
from cannery.building.packages import say_differences
from cannery.building.plan import Action, Plan, Step
from cannery.building.planning import Selection
from cannery.common import console, errors
from cannery.common.process import each_in_thread, workers
from cannery.common.progress import Board, shown
from cannery.common.references import image_name
from cannery.engine import client as engine
from cannery.engine import containers
from cannery.engine.bake import Failures, bake
from cannery.engine.base import BaseCache, look_up
from cannery.engine.builder import find_builder, forget_cann, require_containerd
from cannery.engine.simulator import Simulated, simulate
from cannery.fetch.needs import needed_files
from cannery.image.bake_events import Event, EventKind, short
from cannery.image.bake_file import ImageBuild
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.devices import device_specs
from cannery.verify.results import read_verified, record
from cannery.verify.run_checks import Detail, ImageChecks, Subject, check


def look_up_bases(project: Project, selection: Selection, options: BuildOptions) -> None:
    """Ask registries which images the bases without a digest are now, so that a plan knows it."""
    unpinned = {
        (needed.image, architecture): (needed, architecture)
        for target in selection.targets
        for needed, architecture in bases(target, options.builder).values()
        if not needed.is_pinned
    }
    for base in unpinned.values():
        look_up(*base, BaseCache(state=project.state), options.index.ca)


def build_all(project: Project, selection: Selection, options: BuildOptions, plan: Plan) -> None:
    """Carry out ``plan``."""
    single = len(selection.targets) == 1
    if options.record:
        # Read now, so that an invalid file is not found only after hours of building.
        read_verified(project.root, [target.id for target in selection.targets])
    if not plan.with_action(Action.BUILD, Action.VERIFY):
        for step in plan.steps:
            console.say(f"{step.id}: {step.why}")
        if not plan.steps and not plan.failures:
            console.say(f"shard {plan.shard} has no targets")
        left_out = plan.unavailable if _all_left_out(plan) else {}
        errors.raise_all(left_out | plan.failures, single=single)
        return
    builder = find_builder(options.builder)
    if options.cache_to:
        require_containerd(builder, "write a cache")
    containers.remove_abandoned()
    board = Board([step.id for step in plan.steps])
    assembly = Assembly(project, selection.matrix, options, builder)
    run = _PlanRun(assembly, plan, board, {**plan.failures})
    for step in plan.with_action(Action.SKIP):
        board.tell(step.id, "skipped", step.why, ended=True)
    with shown(board):
        with workers(options.check_jobs) as give:
            each_in_thread(lambda work: work(), [run.simulate, run.find_bases])
            not_built = run.build(give)
        # After the checks, because an image can pass them although its cache could not be written.
        for target, error in not_built.items():
            run.fail(target, error)
    errors.raise_all(run.failures, single=single)


Give = Callable[[Callable[[Step], None], Step], Future[None]]
"""Runs a function for a step in a thread."""


@dataclass
class _PlanRun:
    assembly: Assembly
    plan: Plan
    board: Board
    failures: dict[str, errors.CanneryError]
    _made: dict[str, Simulated] = field(default_factory=dict)
    _images: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project, self.options = self.assembly.project, self.assembly.options

    def fail(self, target: str, error: errors.CanneryError) -> None:
        """Keep and show the error of a target."""
        self.failures[target] = error
        self.board.tell(target, "failed", str(error).splitlines()[0], ended=True)

    def _remaining(self, *actions: Action) -> list[Step]:
        return [s for s in self.plan.with_action(*actions) if s.id not in self.failures]

    def simulate(self) -> None:
        """Make the simulated packages of the targets, for --simulate."""
        options = self.options
        for step in self._remaining(Action.BUILD, Action.VERIFY) if options.simulate else ():
            self.board.tell(step.id, "simulating")
            needed = needed_files(step.target, simulate=True, with_cann=options.with_cann)
            try:
                self._made[step.id] = simulate(
                    self.project, step.target, options.index, options.artifacts, needed
                )
            except errors.CanneryError as error:
                self.fail(step.id, error)

    def find_bases(self) -> None:
        """Find the bases of the targets, while the simulated packages are made."""
        self.assembly.find_bases(step.target for step in self._remaining(Action.BUILD))

    def build(self, give: Give) -> Failures:
        """Build the missing images, and ``give`` each to a thread that checks and names it.

        Returns the failures.
        """
        steps = {step.id: step for step in self.plan.steps}

        def built(target: str, image: str) -> None:
            self._images[target] = image
            self.board.tell(target, "built")
            give(self._verify, steps[target])

        for step in self._remaining(Action.VERIFY):
            built(step.id, step.image)
        builds: list[ImageBuild] = []
        for step in self._remaining(Action.BUILD):
            try:
                builds.append(self.assembly.image(step, self._made.get(step.id)))
            except errors.CanneryError as error:
                self.fail(step.id, error)
            else:
                self.board.tell(step.id, "building")
        if not builds:
            return {}
        failures = bake(builds, self.assembly.settings, self._show_event, built)
        if not failures:
            forget_cann(self.assembly.builder)
        return failures

    def _show_event(self, target: str, event: Event, steps: tuple[int, int]) -> None:
        over, known = steps
        name = short(event.step)
        if event.kind is EventKind.STARTED and target not in self._images:
            self.board.tell(target, "building", f"{over}/{known} {name}")
        elif event.kind is EventKind.DONE:
            self.board.step(target, name, event.seconds)
        elif event.kind is EventKind.FAILED:
            self.board.tell(target, "failed", name, ended=True)

    def _verify(self, step: Step) -> None:
        target, image, options = step.target, self._images[step.id], self.options
        name = image_name(target.id, simulate=options.simulate)
        try:
            if options.test:
                self.board.tell(target.id, "verifying")
                made = self._made.get(target.id)
                detail = Detail.BRIEF if len(self.plan.steps) > 1 else Detail.COMPONENTS
                checks = ImageChecks(
                    ca=options.index.ca, detail=Detail.CHECKS if options.verbose else detail
                )
                if options.record:
                    keep = partial(record, self.project, target, image=step.committed)
                    checks = replace(checks, record=keep)
                subject = Subject(target=target, image=image, name=name)
                check(self.project, subject, device_specs(made.host if made else None), checks)
            engine.tag_image(image, name)
            say_differences(step.rendered, image)
        except errors.CanneryError as error:
            self.fail(target.id, error)
            return
        unverified = "" if options.test else ", not verified"
        self.board.tell(target.id, "done", f"{name} is ready{unverified}", ended=True)


def raise_for_plan(plan: Plan, *, simulate: bool, single: bool) -> None:
    """Raise the error with whose exit code a build of ``plan`` would end now, if it would fail.

    The plan that the user has already seen says what each target lacks.
    """
    if not _all_left_out(plan):
        errors.raise_all(plan.failures, single=single)
        return
    causes = plan.unavailable | plan.failures
    what = f"none of the {len(causes)} selected targets can be built."
    if len(causes) == 1:
        what = "the selected target cannot be built."
    or_simulate = "" if simulate else ", or add --simulate"
    fix = f"Put the missing files into the folder of --artifacts{or_simulate}."
    lacks_files = any(isinstance(error, errors.ArtifactError) for error in causes.values())
    last = errors.Problem(what=what, fix=fix if lacks_files else "")
    raise errors.kind_of(causes.values())([*errors.named_problems(plan.failures), last])


def _all_left_out(plan: Plan) -> bool:
    return bool(plan.steps) and all(step.id in plan.unavailable for step in plan.steps)
