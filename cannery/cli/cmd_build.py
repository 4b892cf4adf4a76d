# SPDX-License-Identifier: Apache-2.0
"""``build.py build``: plan, build, check, name."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from pathlib import Path

from cannery.building.assembly import printed
from cannery.building.bundle.build import build_from_bundle
from cannery.building.failure_report import reported
from cannery.building.journal import Journal, read_journal
from cannery.building.plan import Plan, to_json, to_text
from cannery.building.planning import Planned, PlanOptions, make_plan
from cannery.building.running import build_all, look_up_bases, raise_for_plan
from cannery.building.selection import Selection, caches_of
from cannery.building.vendor_images import with_images
from cannery.cli.command import Command, Given
from cannery.cli.common import existing, given_value, read, with_folder
from cannery.common import console
from cannery.common.errors import (
    BusyError,
    CanneryError,
    Problem,
    UsageError,
    file_error,
    raise_all,
)
from cannery.common.files import Claims
from cannery.common.option import OptionSet, Shard, declared, flag, option, parse_shard
from cannery.common.references import image_tag
from cannery.fetch.fetching import foresee, lacking, provide
from cannery.fetch.needs import Lacks, screen
from cannery.image.bake_file import check_caches
from cannery.matrix.project import Project, select
from cannery.options import ALL, MACHINES, TARGET, BuildOptions, TargetOptions, TransferOptions

_PLAN = "show what would be done, and build nothing"


@dataclass(frozen=True, kw_only=True)
class SelectionOptions(TargetOptions):
    """What is built."""

    targets: tuple[str, ...] = TARGET.field(default=())
    all: bool = ALL.field(help="select every target; those whose files are missing are skipped")
    resume: bool = flag(
        "continue the last run: build and check what it did not finish, with its options",
        with_resume=True,
    )
    shard: Shard | None = option(
        "build the I-th of N shares of the selection, which cost about the same",
        default=None,
        metavar="I/N",
        parse=parse_shard,
        group=MACHINES,
    )


@dataclass(frozen=True, kw_only=True)
class ShownOptions(PlanOptions, OptionSet):
    """What is shown of a plan instead of building."""

    plan: bool = flag(
        "show what would be built, what would be skipped and why, and what is shared",
        group=_PLAN,
        conflicts=("print",),
        with_resume=True,
    )
    format: str = option(
        "the format of the plan",
        default="text",
        choices=("text", "json"),
        group=_PLAN,
        needs="plan",
        with_resume=True,
    )
    if_changed: str = option(
        "show what a change of torch, toolkit, base, ... would rebuild",
        default="",
        metavar="COMPONENT",
        group=_PLAN,
        needs="plan",
    )
    compare_with: str = option(
        "show whether the images in this repository are up to date",
        default="",
        metavar="REPOSITORY",
        group=_PLAN,
        needs="plan",
    )
    print: bool = flag("print the file for 'docker buildx bake'", group=_PLAN)


COMMAND = Command(
    description="Builds all selected targets at once, with the layers that they share built "
    "once. Checks each image and tags it when it passes. Images that are up to date are "
    "skipped. A target that fails does not stop the others.",
    reads="matrix.yaml, compat.yaml, images/, and Huawei's packages in artifacts/",
    writes="images of the engine, .cannery/, and with --record verified/",
    example="build py39-torch231-cann8t39 --simulate",
    options=(SelectionOptions, BuildOptions, TransferOptions, ShownOptions),
    one_of=("targets", "where", "all", "resume", "from_bundle"),
)


_JOURNAL = "journal.json"


@dataclass(frozen=True, kw_only=True)
class _BuildRun:
    """What is built, and how. ``journal`` is that of the last run where it is resumed.

    ``busy`` says why some of the targets cannot be built now.
    """

    selection: Selection
    options: BuildOptions
    journal: Journal
    resumes: bool
    busy: Mapping[str, CanneryError] = field(default_factory=dict)


def run(given: Given, project: Project) -> int:
    """Build every selected target; a target that fails does not keep the others from it.

    Raises:
        CanneryError: whatever stops one or more targets; see docs/reference.md.
    """
    plan_options = read(ShownOptions, given, project)
    builds = not (plan_options.plan or plan_options.print)
    if builds:
        _check_folder(project)
    with Claims(project.state) as claims:
        resumes = read(SelectionOptions, given, project).resume
        found = (_resumed if resumes else _started)(given, project, claims)
        if not found:
            console.say("nothing to resume: the last run finished all of its targets")
            return 0
        if builds:
            found = _claimed(found, claims)
        return _run_plan(given, project, found, plan_options)


def _claimed(found: _BuildRun, claims: Claims) -> _BuildRun:
    """``found`` with a journal of its own, and with what other runs build now.

    Raises:
        BusyError: the run that it resumes is being resumed already.
        FileError: a claim cannot be written.
    """
    path = found.journal.path
    if found.resumes:
        if holder := claims.take(path.name):
            raise BusyError(f"another run resumes the last run already: {holder}.")
    else:
        names = (f"{path.stem}-{number}{path.suffix}" for number in count(2))
        own = next(name for name in chain([path.name], names) if not claims.take(name))
        found = replace(found, journal=replace(found.journal, path=path.with_name(own)))
    simulate = found.options.simulate
    holders = {
        each.id: claims.take(image_tag(each.id, simulate=simulate))
        for each in found.selection.targets
    }
    fix = "Wait until it has ended, or stop it."
    busy = {
        name: BusyError(Problem(what=f"another run builds this target: {holder}.", fix=fix))
        for name, holder in holders.items()
        if holder
    }
    return replace(found, busy=busy)


def _run_plan(given: Given, project: Project, found: _BuildRun, plan_options: ShownOptions) -> int:
    options = found.options
    selection, without_image = with_images(found.selection, options, project.settings())
    existing(options.ca)
    existing(options.from_bundle, "--from-bundle")
    check_caches(caches_of(options), len(selection.targets))
    if options.from_bundle:
        raise_all(found.busy, single=len(selection.targets) == 1)
        build_from_bundle(project, selection, options, options.from_bundle, found.journal)
        return 0
    earlier = found.journal if found.resumes else None
    transfer = read(TransferOptions, given, project)
    builds = not (plan_options.plan or plan_options.print)
    needs = lacking(project, selection.targets, options, transfer)
    tell = partial(screen, needs, options.artifacts, _retyped(given))
    as_text = plan_options.plan and plan_options.format == "text"
    supply = provide if builds else foresee
    provided = supply(project, selection.targets, options, transfer)
    provided = replace(provided, failures={**provided.failures, **without_image, **found.busy})
    options = replace(options, artifacts=provided.folder)
    selection = replace(selection, provided=provided)
    if builds:
        look_up_bases(project, selection, options)
    planned = make_plan(project, selection, options, plan_options, earlier)
    if needs and _shorten(planned) and not as_text:
        console.error(tell())
    if builds:
        with reported(project, selection.targets, options):
            build_all(project, selection, options, planned, found.journal)
        _say_next(selection, options)
        return 0
    if plan_options.plan:
        fields = {each.file.name: each.fields for each in needs}
        shown = _as_text(planned.plan, options, tell) if as_text else ""
        print(shown or to_json(planned.plan, fields))
    else:
        print(printed(project, selection, options, planned), end="")
    raise_for_plan(planned, simulate=options.simulate, single=len(selection.targets) == 1)
    return 0


def _say_next(selection: Selection, options: BuildOptions) -> None:
    """What to do with the images, where all of them are there now."""
    if selection.targets:
        flag = " --simulate" if options.simulate else ""
        console.say(f"now run it: python build.py run {selection.targets[0].id}{flag}")


def _shorten(planned: Planned) -> bool:
    """Leave out of the failures what the screen of needs says; whether there was any of it."""
    found = False
    for failures in (planned.failures, planned.unavailable):
        for name, error in failures.items():
            kept = [each for each in error.problems if not isinstance(each, Lacks)]
            if kept and len(kept) < len(error.problems):
                failures[name] = type(error)(kept)
                found = True
    return found


def _retyped(given: Given) -> str:
    """The command line again, as far as it says what is built, and of which files."""
    told = {"targets", "where", "all", "resume", "shard", "artifacts", "sources"}
    words = [shlex.quote(each) for each in given.get("targets", ())]
    for each in COMMAND.declared:
        if each.name in given and each.name in told - {"targets"}:
            values = given[each.name] if each.repeated else [given[each.name]]
            values = [] if each.kind is bool else [shlex.quote(str(value)) for value in values]
            words += [each.label, *values]
    return " ".join(["python build.py build", *words])


def _as_text(plan: Plan, options: BuildOptions, tell: Callable[..., str]) -> str:
    text = to_text(plan, verbose=options.verbose, width=console.width())
    told = tell(listed={name for step in plan.steps for name in step.missing})
    return "\n\n".join(each for each in (text if plan.steps or not told else "", told) if each)


def _started(given: Given, project: Project, _: Claims) -> _BuildRun:
    """A new run."""
    chosen = read(SelectionOptions, given, project)
    options = read(BuildOptions, given, project)
    with_folder(given, options.artifacts)
    matrix = project.matrix()
    selection = Selection(
        matrix=matrix,
        targets=tuple(select(matrix, chosen.targets, chosen.where)),
        named=frozenset(chosen.targets) & frozenset(matrix.targets),
        shard=chosen.shard,
    )
    named = tuple(sorted(selection.named))
    journal = Journal(path=project.state / _JOURNAL, options=options, named=named)
    return _BuildRun(selection=selection, options=options, journal=journal, resumes=False)


def _resumed(given: Given, project: Project, claims: Claims) -> _BuildRun | None:
    """The last run, as far as it is not finished; None if it is.

    Raises:
        UsageError: one of its targets does not exist any more, or an option has to be given again.
        BusyError: the run has not ended.
        FileError: what it wrote down cannot be read.
    """
    earlier = read_journal(_newest_ended(project, claims))
    left = [name for name, entry in earlier.entries.items() if not entry.finished]
    if not left:
        return None
    options = resumed(earlier.options, earlier.withheld, given)
    matrix = project.matrix()
    selection = Selection(
        matrix=matrix, targets=tuple(select(matrix, left)), named=frozenset(earlier.named)
    )
    journal = replace(earlier, options=options)
    return _BuildRun(selection=selection, options=options, journal=journal, resumes=True)


def _newest_ended(project: Project, claims: Claims) -> Path:
    """The newest journal whose run has ended.

    Raises:
        BusyError: no run has ended yet.
    """
    found = project.state.glob(f"{Path(_JOURNAL).stem}*.json")
    newest_first = sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
    holders = {path: claims.holder(path.name) for path in newest_first}
    ended = [path for path, holder in holders.items() if not holder]
    if holders and not ended:
        running = "; ".join(holders.values())
        fix = "Wait until it has ended, or stop it."
        raise BusyError(Problem(what=f"the run that could be resumed goes on: {running}.", fix=fix))
    return ended[0] if ended else project.state / _JOURNAL


def _check_folder(project: Project) -> None:
    """Raise FileError where no folder can be for what a build writes."""
    if project.state.exists() and not project.state.is_dir():
        error = NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        raise file_error("write", project.state, error)


def resumed(options: BuildOptions, withheld: Iterable[str], given: Given) -> BuildOptions:
    """The options of the last run, and in place of some what is ``given`` now.

    Raises:
        UsageError: a secret one was given to the last run and is not given now.
    """
    own = {each.name: each for each in declared(type(options))}
    problems = [
        Problem(
            what=f"the last run was given {own[name].label}, whose value is never written down.",
            fix=f"Add {own[name].label}.",
        )
        for name in withheld
        if name not in given
    ]
    if problems:
        raise UsageError(problems)
    return replace(
        options, **{n: given_value(each, given) for n, each in own.items() if n in given}
    )
