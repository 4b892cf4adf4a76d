# SPDX-License-Identifier: Apache-2.0
"""``build.py ci``: the jobs of a CI run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cannery.building import git
from cannery.building.affected import affected, read_commit
from cannery.building.ci_jobs import (
    EXECUTORS,
    MAX_CI_JOBS,
    Job,
    make_jobs,
    to_github,
    to_gitlab,
    to_names,
)
from cannery.building.plan import missing
from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console
from cannery.common.errors import EngineError, Problem, UsageError
from cannery.common.model import Target
from cannery.common.option import number, option
from cannery.fetch.needs import missing_files
from cannery.image.render import Renderer
from cannery.image.simulator_spec import package_spec
from cannery.matrix.project import Project
from cannery.options import ALL, ARTIFACTS, SIMULATE, TargetOptions

_jobs = number(1, MAX_CI_JOBS)


@dataclass(frozen=True, kw_only=True)
class CiOptions(TargetOptions):
    """The jobs of a CI run. ``since`` names a commit; empty for all targets.

    ``artifacts`` holds the vendor's files that the runners have. ``shards`` is None for as many
    jobs as keep together what shares much.
    """

    all: bool = ALL.field(help="select every target (the default)")
    simulate: bool = SIMULATE.field()
    format: str = option(
        "a matrix as JSON, a child pipeline, or one target per line",
        choices=("github", "gitlab", "names"),
    )
    executor: str = option(
        "of the runners of a child pipeline; with docker and kubernetes a job is in a container, "
        "with an engine as a service",
        default=EXECUTORS[0],
        choices=EXECUTORS,
    )
    since: str = option(
        "only targets that changed between this commit and HEAD; all targets where the "
        "commit does not exist or cannot be compared",
        default="",
        metavar="COMMIT",
    )
    artifacts: Path = ARTIFACTS.field(help="the directory of Huawei's packages on the runners")
    shards: int | None = option(
        "divide the targets into N jobs that cost about the same",
        default=None,
        metavar="N",
        parse=_jobs,
        default_text="as many as keep targets of one CANN and torch together",
    )
    max_jobs: int = option(
        "fail if there are more jobs", default=MAX_CI_JOBS, metavar="N", parse=_jobs
    )


COMMAND = Command(
    description="Prints the jobs for a CI service: the selected targets that can be built "
    "there and have changed, divided into shards. Says on stderr why each target is included "
    "or left out. See docs/ci.md.",
    reads="matrix.yaml, compat.yaml, images/, artifacts/, and git",
    writes="nothing",
    example="ci --format github --simulate --since origin/main",
    options=CiOptions,
    quick=True,
)


def run(options: CiOptions, project: Project) -> None:
    """Print the jobs in the form of a CI service."""
    jobs = plan_ci(project, selected(options, project), options)
    formats: dict[str, Callable[[Sequence[Job]], str]] = {
        "github": to_github,
        "gitlab": partial(
            to_gitlab,
            simulate=options.simulate,
            executor=options.executor,
            is_checkout=project.is_checkout,
        ),
        "names": to_names,
    }
    print(formats[options.format](jobs), end="")


def plan_ci(project: Project, targets: Sequence[Target], options: CiOptions) -> tuple[Job, ...]:
    """The jobs that build those of ``targets`` that have changed and can be built."""
    absent = {target.id: _missing(target, options) for target in targets}
    # Of targets of one kind the first is taken, which had better be one that can be built.
    ordered = sorted(targets, key=lambda target: bool(absent[target.id]))
    reasons = _affected(project, ordered, options)
    chosen = []
    for target in targets:
        why = reasons.get(target.id)
        if why and absent[target.id]:
            console.say(f"{target.id}: left out: {absent[target.id]}")
        elif why:
            console.say(f"{target.id}: {why}")
            chosen.append(target)
    rendered = Renderer(project).render_all(chosen)
    layers = {name: image.layers for name, image in rendered.items()}
    jobs = make_jobs(chosen, layers, shards=options.shards, most=options.max_jobs)
    console.say(f"targets: {len(chosen)} of {len(targets)}, jobs: {len(jobs)}")
    return jobs


def _affected(project: Project, targets: Sequence[Target], options: CiOptions) -> dict[str, str]:
    if not options.since:
        return {target.id: "all targets are selected" for target in targets}
    base = git.resolve(project.root, options.since)
    if not base:
        why = f"the commit {options.since!r} to compare with does not exist"
        return {target.id: why for target in targets}
    if changes := git.changed(project.root, untracked=False):
        what = f"--since compares commits, but these files have changed: {', '.join(changes)}."
        raise UsageError(Problem(what=what, fix="Commit them, or leave out --since."))
    after = read_commit(project, "HEAD")
    try:
        before = read_commit(project, base)
    except EngineError as error:
        return {target.id: f"{base[:12]} cannot be read: {error}" for target in targets}
    return affected(before, after, targets, simulate=options.simulate, stand_in=stand_in)


def stand_in(target: Target) -> str:
    """The specification of the simulated packages of ``target``, or why there are none."""
    try:
        return json.dumps(package_spec(target), sort_keys=True)
    except UsageError as error:
        return str(error)


def _missing(target: Target, options: CiOptions) -> str:
    if options.simulate:
        try:
            package_spec(target)
        except UsageError as error:
            return str(error)
    absent = missing_files(target, options.artifacts, simulate=options.simulate)
    return f"it {missing(absent)}" if absent else ""
