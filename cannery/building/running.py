# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan: simulates packages, builds all images, checks each image and names it.

Or reports why there is nothing to build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

from cannery.building.assembly import Assembly
from cannery.building.packages import say_differences
from cannery.building.plan import Action, Step
from cannery.building.planning import Planned, Selection, caches_of, index_of
from cannery.building.ready import bases
from cannery.common import console
from cannery.common.errors import (
    ArtifactError,
    CanneryError,
    Problem,
    kind_of,
    named_problems,
    raise_all,
)
from cannery.common.process import each_in_thread, workers
from cannery.common.progress import Board, shown
from cannery.common.references import image_name
from cannery.engine import client as engine
from cannery.engine import containers
from cannery.engine.bake import BakeSettings, Failures, bake
from cannery.engine.base import BaseCache
from cannery.engine.builder import Builder, find_builder, forget_cann, require_containerd
from cannery.engine.simulator import Simulated, simulate
from cannery.fetch.needs import needed_files
from cannery.image.bake_events import Event, EventKind, short
from cannery.image.bake_file import ImageBuild
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.devices import device_specs
from cannery.verify.results import read_verified, record
from cannery.verify.run_checks import Detail, ImageChecks, Subject, check


def carry_out(
    project: Project, selection: Selection, options: BuildOptions, planned: Planned
) -> dict[str, CanneryError]:
    """Carry out ``planned``. Returns the failures, by target."""
    builder = find_builder(options.builder)
    if options.cache_to:
        require_containerd(builder, "write a cache")
    containers.remove_abandoned()
    board = Board([step.id for step in planned.plan.steps])
    assembly = Assembly(project, selection.matrix, options, builder)
    run = _PlanRun(project, options, planned, builder, board, assembly, {**planned.failures})
    for step in planned.plan.with_action(Action.SKIP):
        board.tell(step.id, "skipped", step.why, ended=True)
    with shown(board):
        with workers(options.check_jobs) as give:
            each_in_thread(lambda work: work(), [run.simulate, run.find_bases])
            not_built = run.build(give)
        # After the checks, because an image can pass them although its cache could not be written.
        run.fail(not_built)
    return run.failures


Give = Callable[[Callable[[str], None], str], Future[None]]
"""Runs a function for a target in a thread."""


@dataclass
class _PlanRun:
    """A plan that is being carried out."""

    project: Project
    options: BuildOptions
    planned: Planned
    builder: Builder
    board: Board
    assembly: Assembly
    failures: dict[str, CanneryError]
    _made: dict[str, Simulated] = field(default_factory=dict)
    _images: dict[str, str] = field(default_factory=dict)

    def _remaining(self, *actions: Action) -> list[Step]:
        return [s for s in self.planned.plan.with_action(*actions) if s.id not in self.failures]

    def fail(self, failures: Mapping[str, CanneryError]) -> None:
        """Keep and show the errors of targets."""
        for target, error in failures.items():
            self._fail(target, error)

    def _fail(self, target: str, error: CanneryError) -> None:
        self.failures[target] = error
        self.board.tell(target, "failed", str(error).splitlines()[0], ended=True)

    def simulate(self) -> None:
        """Make the simulated packages of the targets, for --simulate."""
        if not self.options.simulate:
            return
        for step in self._remaining(Action.BUILD, Action.VERIFY):
            self.board.tell(step.id, "simulating")
            target = self.planned.ready[step.id].target
            try:
                needed = needed_files(target, simulate=True, with_cann=self.options.with_cann)
                self._made[step.id] = simulate(
                    self.project, target, index_of(self.options), self.options.artifacts, needed
                )
            except CanneryError as error:
                self._fail(step.id, error)

    def find_bases(self) -> None:
        """Find the bases of the targets, while the simulated packages are made."""
        steps = self._remaining(Action.BUILD)
        self.assembly.find_bases(self.planned.ready[step.id].target for step in steps)

    def build(self, give: Give) -> Failures:
        """Build the missing images, and ``give`` each to a thread that checks and names it.

        Returns the failures.
        """
        for step in self._remaining(Action.VERIFY):
            self._built(step.id, step.image)
            give(self._verify, step.id)
        builds: list[ImageBuild] = []
        for step in self._remaining(Action.BUILD):
            try:
                build = self.assembly.image(self.planned.ready[step.id], self._made.get(step.id))
            except CanneryError as error:
                self._fail(step.id, error)
                continue
            builds.append(build)
            self.board.tell(step.id, "building")
        if not builds:
            return {}
        settings = BakeSettings(
            builder=self.builder,
            source=index_of(self.options),
            caches=caches_of(self.options),
            logs=self.project.state / "logs",
        )

        def built(target: str, image: str) -> None:
            self._built(target, image)
            give(self._verify, target)

        failures = bake(builds, settings, self._show_event, built)
        if not failures:
            forget_cann(self.builder)
        return failures

    def _built(self, target: str, image: str) -> None:
        self._images[target] = image
        self.board.tell(target, "built")

    def _show_event(self, target: str, event: Event, steps: tuple[int, int]) -> None:
        over, known = steps
        name = short(event.step)
        if event.kind is EventKind.STARTED and target not in self._images:
            self.board.tell(target, "building", f"{over}/{known} {name}")
        elif event.kind is EventKind.DONE:
            self.board.step(target, name, event.seconds)
        elif event.kind is EventKind.FAILED:
            self.board.tell(target, "failed", name, ended=True)

    def _verify(self, id_: str) -> None:
        """Check an image, and name it if all checks have passed."""
        target, image = self.planned.ready[id_].target, self._images[id_]
        name = image_name(target.id, simulate=self.options.simulate)
        try:
            if self.options.test:
                self.board.tell(target.id, "verifying")
                made = self._made.get(target.id)
                check(
                    self.project,
                    Subject(target=target, image=image, name=name),
                    device_specs(made.host if made else None),
                    self._check_options(target.id),
                )
            engine.tag_image(image, name)
            say_differences(self.planned.ready[id_].rendered, image)
        except CanneryError as error:
            self._fail(target.id, error)
            return
        unverified = "" if self.options.test else ", not verified"
        self.board.tell(target.id, "done", f"{name} is ready{unverified}", ended=True)

    def _check_options(self, id_: str) -> ImageChecks:
        usual = Detail.BRIEF if len(self.planned.plan.steps) > 1 else Detail.COMPONENTS
        options = ImageChecks(
            ca=index_of(self.options).ca, detail=Detail.CHECKS if self.options.verbose else usual
        )
        if not self.options.record:
            return options
        ready = self.planned.ready[id_]
        keep = partial(record, self.project, ready.target, image=ready.committed)
        return replace(options, record=keep)


def build_all(
    project: Project, selection: Selection, options: BuildOptions, planned: Planned
) -> None:
    """Carry out ``planned``."""
    if options.record:
        # Read now, so that an invalid file is not found only after hours of building.
        read_verified(project.root, [target.id for target in selection.targets])
    single = len(selection.targets) == 1
    if not planned.plan.with_action(Action.BUILD, Action.VERIFY):
        _nothing_to_do(planned, single=single)
        return
    raise_all(carry_out(project, selection, options, planned), single=single)


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
        look_up(*each, BaseCache(state=project.state), index_of(options).ca)


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
