# SPDX-License-Identifier: Apache-2.0
"""``build.py build``: plan, build, check, name."""

from __future__ import annotations

import argparse
import errno
import os
from pathlib import Path

from cannery import console
from cannery.cli.common import PROJECT, package_index_of
from cannery.errors import Problem, UsageError, file_error
from cannery.image.bake_file import Caches, check_caches
from cannery.matrix.project import select
from cannery.pipeline.build import build_all, raise_all
from cannery.pipeline.build_options import BuildOptions, Selection
from cannery.pipeline.planning import PlanOptions, make_plan
from cannery.plan.journal import Journal, RunSettings, read_journal
from cannery.plan.shard import parse_shard
from cannery.report import plan as report

_OF_A_PLAN = ("format", "if_changed", "registry")
"""Options that only say something of a plan."""

_OF_A_RUN = (
    *("target", "all", "where", "simulate", "artifacts", "no_test", "force", "print", "registry"),
    *("if_changed", "builder", "cache_to", "cache_from", "shard"),
)
"""Options that ``--resume`` takes from the run that it resumes, or that make no sense with it."""


def run(options: argparse.Namespace) -> int:
    """Build every selected target; a target that fails does not keep the others from it.

    Raises:
        CanneryError: whatever stops one or more targets; see docs/exit-codes.md.
    """
    _check(options)
    if not (options.plan or options.print):
        _check_folder()
    path = PROJECT.state / "journal.json"
    earlier = None
    if options.resume:
        earlier = read_journal(path)
        left = [name for name, entry in earlier.entries.items() if not entry.finished]
        if not left:
            console.say("nothing to resume: the last run finished all of its targets")
            return 0
        _take(options, earlier.asked)
        selection = _rest(earlier, left)
    else:
        selection = _selection(options)
    check_caches(_caches(options), len(selection.targets))
    settings = _settings(options)
    plan_options = PlanOptions(
        published=options.registry,
        changed=options.if_changed,
        earlier=earlier,
        offline=options.plan,
    )
    planned = make_plan(PROJECT, selection, settings, plan_options)
    if options.plan:
        texts = {"text": report.to_text, "json": report.to_json}
        print(texts[options.format or "text"](planned.plan))
    elif options.print:
        from cannery.pipeline.assembly import printed

        print(printed(PROJECT, selection, settings, planned), end="")
    else:
        journal = earlier or Journal(path=path, asked=_asked(options, selection))
        build_all(PROJECT, selection, settings, planned, journal)
        return 0
    raise_all(planned.failures, single=len(selection.targets) == 1)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go together."""
    given = {name for name in {*_OF_A_PLAN, *_OF_A_RUN} if getattr(options, name)}
    problems = []
    if not options.plan:
        problems += [f"{_word(name)} needs --plan." for name in _OF_A_PLAN if name in given]
    if options.plan and options.print:
        problems.append("--plan and --print are two ways to build nothing. Take one.")
    if options.all and options.target:
        problems.append("--all means every target. Leave out --target.")
    if options.resume and given & {*_OF_A_RUN}:
        words = ", ".join(_word(name) for name in _OF_A_RUN if name in given)
        problems.append(f"--resume goes on with what the last run was asked. Leave out {words}.")
    if not (options.resume or given & {"target", "all", "where"}):
        problems.append("no target is named. Add --target ID, --all, or --resume.")
    if options.shard:
        parse_shard(options.shard)
    if problems:
        raise UsageError([Problem(what=text) for text in problems])


def _check_folder() -> None:
    """Raise FileError where no folder can be for what a build writes."""
    if PROJECT.state.exists() and not PROJECT.state.is_dir():
        error = NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        raise file_error("write", PROJECT.state, error)


def _word(name: str) -> str:
    return "--" + name.replace("_", "-")


def _selection(options: argparse.Namespace) -> Selection:
    matrix = PROJECT.matrix()
    return Selection(
        matrix=matrix,
        targets=tuple(select(matrix, options.target or ["*"], options.where)),
        named=frozenset(options.target) & frozenset(matrix.targets),
        shard=options.shard,
    )


def _rest(earlier: Journal, left: list[str]) -> Selection:
    """What the earlier run has not finished.

    Raises:
        UsageError: a target of it is no more.
    """
    matrix = PROJECT.matrix()
    named = frozenset(earlier.asked.named)
    return Selection(matrix=matrix, targets=tuple(select(matrix, left)), named=named)


def _take(options: argparse.Namespace, asked: RunSettings) -> None:
    """Let ``options`` say what the earlier run was asked.

    Raises:
        UsageError: it was told something that is not kept.
    """
    if asked.asked_index and not options.index_url:
        what = "the last run was told a package index, which is written down nowhere."
        raise UsageError(Problem(what=what, fix="Add --index-url."))
    options.simulate, options.no_test, options.force = asked.simulate, asked.no_test, asked.force
    options.artifacts, options.builder = Path(asked.artifacts), asked.builder
    options.ca = options.ca or asked.ca
    options.jobs = options.jobs or asked.jobs
    options.cache_to, options.cache_from = [*asked.cache_to], [*asked.cache_from]


def _caches(options: argparse.Namespace) -> Caches:
    return Caches(sources=tuple(options.cache_from), destinations=tuple(options.cache_to))


def _settings(options: argparse.Namespace) -> BuildOptions:
    return BuildOptions(
        simulate=options.simulate,
        artifacts=(options.artifacts or PROJECT.artifacts).absolute(),
        test=not options.no_test,
        package_index=package_index_of(options),
        force=options.force,
        jobs=options.jobs or 1,
        builder=options.builder,
        caches=_caches(options),
    )


def _asked(options: argparse.Namespace, selection: Selection) -> RunSettings:
    return RunSettings(
        simulate=options.simulate,
        no_test=options.no_test,
        force=options.force,
        asked_index=bool(options.index_url),
        jobs=options.jobs or 1,
        artifacts=str((options.artifacts or PROJECT.artifacts).absolute()),
        ca=str(Path(options.ca).absolute()) if options.ca else "",
        builder=options.builder,
        named=tuple(sorted(selection.named)),
        cache_to=tuple(options.cache_to),
        cache_from=tuple(options.cache_from),
    )
