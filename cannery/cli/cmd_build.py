# SPDX-License-Identifier: Apache-2.0
"""``build.py build``: plan, build, check, name."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from cannery.building.assembly import Assembly
from cannery.building.bundle import build_from_bundle
from cannery.building.failure_report import reported
from cannery.building.plan import Plan, to_json, to_text
from cannery.building.planning import Selection, make_plan, with_images
from cannery.building.running import build_all, look_up_bases, raise_for_plan
from cannery.cli import results
from cannery.cli.command import Command, read
from cannery.cli.common import selected
from cannery.common import console, program
from cannery.common.console import fold
from cannery.common.errors import BusyError, FileError, Problem, file_error, raise_all
from cannery.common.files import now, read_text
from cannery.common.option import Shard, option, parse_shard
from cannery.common.references import image_tag
from cannery.engine.builder import Builder, find_builder
from cannery.fetch.fetching import download_missing, missing_needs, plan_downloads
from cannery.fetch.needs import Lacks, Need, screen
from cannery.image.bake_file import Caches, check_caches
from cannery.matrix.project import Project
from cannery.options import (
    ALL,
    MACHINES,
    TARGET,
    BuildOptions,
    PlanOptions,
    TargetOptions,
    TransferOptions,
)

_REPEATED = ("where", "all", "shard", "artifacts", "sources")
"""The options that select targets and files."""


@dataclass(frozen=True, kw_only=True)
class BuildCommandOptions(PlanOptions, TransferOptions, BuildOptions, TargetOptions):
    """The targets that are built, and how."""

    targets: tuple[str, ...] = TARGET.field(default=())
    all: bool = ALL.field(help="select every target; those whose files are missing are skipped")
    shard: Shard | None = option(
        "build the I-th of N shares of the selection, which cost about the same",
        default=None,
        metavar="I/N",
        parse=parse_shard,
        group=MACHINES,
    )


COMMAND = Command(
    description="Builds all selected targets at once, with the layers that they share built "
    "once. Checks each image and tags it when it passes. Images that are up to date are "
    "skipped. A target that fails does not stop the others.",
    reads="matrix.yaml, compat.yaml, images/, and Huawei's packages in artifacts/",
    writes="images of the engine, .cannery/, and with --record verified/",
    example="build py39-torch231-cann8t39 --simulate",
    options=BuildCommandOptions,
    one_of=("targets", "where", "all", "from_bundle"),
)


def run(options: BuildCommandOptions, project: Project) -> None:
    """Build every selected target, or show what would be built."""
    matrix = project.matrix()
    selection = Selection(
        matrix=matrix,
        targets=tuple(selected(options, project)),
        named=frozenset(options.targets) & frozenset(matrix.targets),
        shard=options.shard,
    )
    selection = with_images(selection, options, project.settings())
    targets = selection.targets
    caches = Caches(sources=options.cache_from, destinations=options.cache_to)
    check_caches(caches, len(targets))
    command = _command_line(options, project)
    if options.plan or options.print:
        if options.builder:
            find_builder(options.builder)
        found = plan_downloads(project, targets, options, options)
        selection = replace(selection, downloads=found.downloads, remote=found.remote)
        plan = make_plan(project, selection, options, options)
        _show(plan, options, missing_needs(project, targets, options, options), command)
        if options.print:
            builder = Builder(name="", local=True)
            print(Assembly(project, matrix, options, builder).print_file(plan), end="")
        raise_for_plan(plan, simulate=options.simulate, single=len(targets) == 1)
        return
    # Images with simulated packages have a lock and a tag of their own.
    tags = {target.id: image_tag(target.id, simulate=options.simulate) for target in targets}
    locks = {name: project.state / "locks" / f"{tag}.lock" for name, tag in tags.items()}
    with locked(locks) as busy:
        if options.from_bundle:
            raise_all(busy, single=len(targets) == 1)
            build_from_bundle(project, selection, options, options.from_bundle)
            return
        missing = screen(
            missing_needs(project, targets, options, options), options.artifacts, command
        )
        files = download_missing(project, targets, options, options)
        failures = {**files.failures, **selection.failures, **busy}
        selection = replace(selection, failures=failures)
        options = replace(options, artifacts=files.folder)
        look_up_bases(project, selection, options)
        plan = make_plan(project, selection, options)
        if missing and _drop_reported(plan):
            console.error(missing)
        with reported(project, targets, options):
            build_all(project, selection, options, plan)
    if targets:
        flag = " --simulate" if options.simulate else ""
        console.say(f"now run it: python build.py run {targets[0].id}{flag}")


def _show(plan: Plan, options: BuildCommandOptions, needs: Sequence[Need], command: str) -> None:
    listed = {name for step in plan.steps for name in step.missing}
    dropped = bool(needs) and _drop_reported(plan)
    if options.plan and options.format == "text":
        missing = screen(needs, options.artifacts, command, listed)
        width = console.width()
        text = to_text(plan, verbose=options.verbose, width=width)
        blocks = [text] if plan.steps or not missing else []
        if missing:
            # A command that is folded could not be copied.
            lines = (
                [line] if line.startswith("  command ") else fold([line], width)
                for line in missing.splitlines()
            )
            blocks.append("\n".join(chain.from_iterable(lines)))
        print(program.text("\n\n".join(blocks)))
        return
    if dropped:
        console.error(screen(needs, options.artifacts, command))
    if options.plan:
        results.show_text(to_json(plan, {need.file.name: need.fields for need in needs}))


@contextmanager
def locked(files: Mapping[str, Path]) -> Iterator[dict[str, BusyError]]:
    """Lock targets, which ``files`` maps to lock files; yields the errors of those in use.

    The kernel releases a lock when its process ends, also after ``kill -9``.
    """
    # Imported here, because only builds lock, and the import takes 0.08 s of CPU.
    from filelock import FileLock, Timeout

    busy = {}
    with ExitStack() as locks:
        for target, path in files.items():
            # A lock file that must stay is never replaced by a lock that survives its process.
            lock = FileLock(
                path, blocking=False, preserve_lock_file=True, on_acquired=_write_process
            )
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                locks.enter_context(lock)
            except Timeout:
                process = "another process"
                with suppress(FileNotFoundError, FileError):
                    process = read_text(path).strip() or process
                what = f"another run builds this target: {process} has locked {path}."
                fix = "Wait until it has ended, or stop it."
                busy[target] = BusyError(Problem(what=what, fix=fix))
            except OSError as error:
                raise file_error("write", path, error) from error
        yield busy


def _write_process(handle: int) -> None:
    text = f"process {os.getpid()} on {socket.gethostname()} (since {now()})\n"
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)


def _drop_reported(plan: Plan) -> bool:
    dropped = False
    for failures in (plan.failures, plan.unavailable):
        for name, error in failures.items():
            kept = [problem for problem in error.problems if not isinstance(problem, Lacks)]
            if kept and len(kept) < len(error.problems):
                failures[name] = type(error)(kept)
                dropped = True
    return dropped


def _command_line(options: BuildCommandOptions, project: Project) -> str:
    words = ["python", "build.py", "build", *options.targets]
    default = read(BuildCommandOptions, {}, project.root)
    for field in COMMAND.declared:
        value = getattr(options, field.name)
        if field.name in _REPEATED and value != getattr(default, field.name):
            values = [] if field.kind is bool else value if field.repeated else [value]
            words += [field.label, *map(str, values)]
    return shlex.join(words)
