# SPDX-License-Identifier: Apache-2.0
"""``build.py build``: plan, build, check, name."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cannery.building.assembly import printed, with_images
from cannery.building.bundle.build import build_from_bundle
from cannery.building.failure_report import reported
from cannery.building.locks import locked
from cannery.building.plan import to_json, to_text
from cannery.building.planning import Planned, PlanOptions, Selection, caches_of, make_plan
from cannery.building.running import build_all, look_up_bases, raise_for_plan
from cannery.cli.command import Command, Given
from cannery.cli.common import existing, read, with_folder
from cannery.common import console
from cannery.common.errors import CanneryError, raise_all
from cannery.common.option import OptionSet, Shard, flag, option, parse_shard
from cannery.common.references import image_tag
from cannery.fetch.fetching import download_missing, missing_needs, plan_downloads
from cannery.fetch.needs import Lacks, Need, screen
from cannery.image.bake_file import check_caches
from cannery.matrix.project import Project, select
from cannery.options import ALL, MACHINES, TARGET, BuildOptions, TargetOptions, TransferOptions

_PLAN = "show what would be done, and build nothing"


@dataclass(frozen=True, kw_only=True)
class SelectionOptions(TargetOptions):
    """What is built."""

    targets: tuple[str, ...] = TARGET.field(default=())
    all: bool = ALL.field(help="select every target; those whose files are missing are skipped")
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
    )
    format: str = option(
        "the format of the plan",
        default="text",
        choices=("text", "json"),
        group=_PLAN,
        needs="plan",
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
    one_of=("targets", "where", "all", "from_bundle"),
)


def run(given: Given, project: Project) -> int:
    """Build every selected target, or show what would be built.

    Raises:
        CanneryError: whatever stops one or more targets; see docs/reference.md.
    """
    shown = read(ShownOptions, given, project)
    options = _build_options(given, project)
    selection, failures = with_images(_selection(given, project), options, project.settings())
    check_caches(caches_of(options), len(selection.targets))
    if shown.plan or shown.print:
        _show(project, _prepare(given, project, selection, options, failures), shown)
        return 0
    with locked(_lock_files(project, selection, options)) as busy:
        if options.from_bundle:
            raise_all(busy, single=len(selection.targets) == 1)
            build_from_bundle(project, selection, options, options.from_bundle)
        else:
            _build(project, _prepare(given, project, selection, options, {**failures, **busy}))
    return 0


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """A run whose files are downloaded, or for a plan whose downloads are known.

    ``needs`` are the files that are missing, and ``needs_text`` describes them.
    """

    selection: Selection
    options: BuildOptions
    planned: Planned
    needs: Sequence[Need]
    needs_text: Callable[..., str]


def _prepare(
    given: Given,
    project: Project,
    selection: Selection,
    options: BuildOptions,
    failures: Mapping[str, CanneryError],
) -> _Prepared:
    shown = read(ShownOptions, given, project)
    builds = not (shown.plan or shown.print)
    transfer = read(TransferOptions, given, project)
    needs = missing_needs(project, selection.targets, options, transfer)
    needs_text = partial(screen, needs, options.artifacts, _command_line(given))
    download = download_missing if builds else plan_downloads
    provided = download(project, selection.targets, options, transfer)
    provided = replace(provided, failures={**provided.failures, **failures})
    options = replace(options, artifacts=provided.folder)
    selection = replace(selection, provided=provided)
    if builds:
        look_up_bases(project, selection, options)
    planned = make_plan(project, selection, options, shown)
    if needs and _drop_reported(planned) and not (shown.plan and shown.format == "text"):
        console.error(needs_text())
    return _Prepared(
        selection=selection,
        options=options,
        planned=planned,
        needs=needs,
        needs_text=needs_text,
    )


def _build(project: Project, run: _Prepared) -> None:
    with reported(project, run.selection.targets, run.options):
        build_all(project, run.selection, run.options, run.planned)
    if run.selection.targets:
        flag = " --simulate" if run.options.simulate else ""
        console.say(f"now run it: python build.py run {run.selection.targets[0].id}{flag}")


def _show(project: Project, run: _Prepared, shown: ShownOptions) -> None:
    plan = run.planned.plan
    if shown.print:
        print(printed(project, run.selection, run.options, run.planned), end="")
    elif shown.format == "json":
        print(to_json(plan, {each.file.name: each.fields for each in run.needs}))
    else:
        text = to_text(plan, verbose=run.options.verbose, width=console.width())
        needs = run.needs_text(listed={name for step in plan.steps for name in step.missing})
        blocks = [text] if plan.steps or not needs else []
        print("\n\n".join([*blocks, needs] if needs else blocks))
    single = len(run.selection.targets) == 1
    raise_for_plan(run.planned, simulate=run.options.simulate, single=single)


def _build_options(given: Given, project: Project) -> BuildOptions:
    options = read(BuildOptions, given, project)
    with_folder(given, options.artifacts)
    existing(options.ca)
    existing(options.from_bundle, "--from-bundle")
    return options


def _selection(given: Given, project: Project) -> Selection:
    chosen = read(SelectionOptions, given, project)
    matrix = project.matrix()
    return Selection(
        matrix=matrix,
        targets=tuple(select(matrix, chosen.targets, chosen.where)),
        named=frozenset(chosen.targets) & frozenset(matrix.targets),
        shard=chosen.shard,
    )


def _lock_files(project: Project, selection: Selection, options: BuildOptions) -> dict[str, Path]:
    """Target to lock file; images with simulated packages have a lock and a tag of their own."""
    return {
        each.id: project.state / "locks" / f"{image_tag(each.id, simulate=options.simulate)}.lock"
        for each in selection.targets
    }


def _drop_reported(planned: Planned) -> bool:
    """Drop the problems that the text of missing files reports; returns whether there were any."""
    dropped = False
    for failures in (planned.failures, planned.unavailable):
        for name, error in failures.items():
            kept = [each for each in error.problems if not isinstance(each, Lacks)]
            if kept and len(kept) < len(error.problems):
                failures[name] = type(error)(kept)
                dropped = True
    return dropped


def _command_line(given: Given) -> str:
    """The command line again, with the options that select targets and files."""
    repeated = {"where", "all", "shard", "artifacts", "sources"}
    words = [shlex.quote(each) for each in given.get("targets", ())]
    for each in COMMAND.declared:
        if each.name in given and each.name in repeated:
            values = given[each.name] if each.repeated else [given[each.name]]
            values = [] if each.kind is bool else [shlex.quote(str(value)) for value in values]
            words += [each.label, *values]
    return " ".join(["python build.py build", *words])
