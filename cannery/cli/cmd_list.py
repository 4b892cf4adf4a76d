# SPDX-License-Identifier: Apache-2.0
"""``build.py list``: the targets, and the state of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command, Given
from cannery.cli.common import read, selected
from cannery.common import console
from cannery.common.console import columns, fold
from cannery.common.model import Target
from cannery.common.option import option
from cannery.common.outside import json_text
from cannery.common.references import image_name
from cannery.compat.finding import UNKNOWN, end_of_life, lifetimes_of
from cannery.fetch.needs import Missing, Need, Supply, missing_files, real_needs, summary
from cannery.matrix.project import Project
from cannery.options import VERBOSE, TargetOptions
from cannery.registry.records import Record, latest, read_records
from cannery.verify.results import (
    Basis,
    Result,
    known_results,
    phrase,
    report_text,
    state_keys,
    verdicts,
)
from cannery.verify.verification import complete_results


@dataclass(frozen=True, kw_only=True)
class ListOptions(TargetOptions):
    """How targets are listed."""

    format: str = option(
        "a table for people, JSON for programs, or one id per line",
        default="table",
        choices=("table", "json", "names"),
    )
    verbose: bool = VERBOSE.field(
        help="show the versions and all results of each target; with --format json also its "
        "commands, sources, layers and packages"
    )


COMMAND = Command(
    description="Lists the targets of matrix.yaml with their state: where they were verified, "
    "whether they are published, and the files that a simulated and a real build lack. "
    "--verbose adds the versions and the names of files. Builds nothing and needs no engine.",
    reads="matrix.yaml, compat.yaml, artifacts/, verified/, releases/ and .cannery/reports/; with "
    "--format json --verbose also publish.yaml and images/",
    writes="nothing",
    example="list --where python=3.9 chip=910b --verbose",
    options=(ListOptions,),
)


def run(given: Given, project: Project) -> int:
    """Print the selected targets in the format that was asked for.

    Raises:
        MatrixError, FileError: matrix.yaml or a record is wrong, or cannot be read.
    """
    options = read(ListOptions, given, project)
    targets = selected(options, project)
    if options.format == "names":
        text = "\n".join(each.id for each in targets)
    elif options.format == "json":
        text = _json(project, targets, verbose=options.verbose)
    else:
        text = _table(project, target_rows(project, targets), verbose=options.verbose)
    print(text)
    return 0


def _table(project: Project, rows: Sequence[TargetRow], *, verbose: bool) -> str:
    width = console.width()
    missing = [each.missing(project.artifacts) for each in rows]
    files = Missing(missing)
    states = [_state(*each, files) for each in zip(rows, missing, strict=True)]
    targets = [each.target for each in rows]
    ids = (each.id for each in targets)
    heads = columns([("target", "state"), *zip(ids, states, strict=True)])
    room = max(map(len, heads))
    lines = [f"{heads[0]:<{room}}  summary"]
    for head, each in zip(heads[1:], rows, strict=True):
        line = f"{head:<{room}}  {each.target.summary}"
        fits = not width or len(line) <= width
        lines += [line] if fits else [head, f"    {each.target.summary}"]
        lines += _details(each) if verbose else []
    reasons = [(each.id, each.unverified) for each in targets if each.unverified]
    notes = [f"{name}: not known to work: {why}" for name, why in reasons]
    legend = files.legend("missing files, which even --simulate needs:")
    real = ["files of a real build (--verbose names them):", *summary([r.real for r in rows])]
    for more in (notes, legend, real):
        lines += ["", *more] if more else []
    return "\n".join(fold(lines, width))


def _state(row: TargetRow, missing: dict[str, str], files: Missing) -> str:
    """One phrase; ``files`` numbers the missing files."""
    use = row.target.recommended
    parts = [f"recommended for {use}"] if use else []
    parts += [files.needs(missing)] if missing else []
    parts += map(phrase, verdicts(row.results))
    parts += ["published"] if row.published else []
    return "; ".join(parts) or "not verified"


def _details(row: TargetRow) -> list[str]:
    """The versions and the results of a target, indented."""
    target = row.target
    versions = [f"{name} {version}" for name, version in target.components.items()]
    lines = ["    " + ", ".join([*versions, f"chip {target.chip}", target.platform])]
    ends = [f"{key} until {day}" for key, day in row.maintained.items() if day != UNKNOWN]
    lines += [f"    maintained: {', '.join(ends)}"] if ends else []
    lines += [f"    {_counted(each)}" for each in row.results]
    lacks = [each for each in row.real if each.supply is not Supply.HERE]
    lines += [f"    real build: {each.file.name} ({each.supply})" for each in lacks]
    return [*lines, *([f"    {row.published}"] if row.published else [])]


def _json(project: Project, targets: Sequence[Target], *, verbose: bool) -> str:
    names = (
        *("id", "summary", "platform", "chip", "flavour", "components"),
        *("unverified", "recommended"),
    )
    documents = [
        {
            **{name: getattr(row.target, name) for name in names},
            "maintained": row.maintained,
            "missing": row.missing(project.artifacts),
            "needs": {need.file.name: need.fields for need in row.real},
            "results": [result.fields for result in row.results],
            "published": row.published,
        }
        for row in target_rows(project, targets)
    ]
    if verbose:
        from cannery.publish.catalog import details, gather

        entries = {entry.target.id: entry for entry in gather(project, state_keys(project))}
        more = details(project, [entries[target.id] for target in targets])
        documents = [{**each, **facts} for each, facts in zip(documents, more, strict=True)]
    return json_text(documents)


# ---- what the checkout knows of its targets


@dataclass(frozen=True, kw_only=True)
class TargetRow:
    """A target with what the checkout knows of it.

    ``real`` has what a real build needs, ``maintained`` components to the last day of their
    maintenance, or to "unknown". ``published`` is what to pull, and empty if there is no release.
    """

    target: Target
    maintained: dict[str, str]
    real: list[Need]
    results: list[Result]
    published: str

    def missing(self, folder: Path) -> dict[str, str]:
        """The files that even a simulated build needs and ``folder`` does not have: to origins."""
        return missing_files(self.target, folder, simulate=True)


def target_rows(project: Project, targets: Sequence[Target]) -> list[TargetRow]:
    """What the checkout knows of ``targets``."""
    compat = project.compat()
    records = read_records(project.releases)
    results = _results(project, targets, records)
    return [
        TargetRow(
            target=each,
            maintained={n: end_of_life(end) for n, end in lifetimes_of(each, compat).items()},
            real=[*real_needs([each], project.artifacts).values()],
            results=results[each.id],
            published=record.by_digest if (record := latest(records, each.id)) else "",
        )
        for each in targets
    ]


def _results(
    project: Project, targets: Sequence[Target], records: Sequence[Record]
) -> dict[str, list[Result]]:
    """Id to the results that are recorded, and those of the last checks on this machine.

    The engine is not asked for the images.
    """
    recorded = known_results(project, targets, records, state_keys(project))
    found = {name: [*results] for name, results in recorded.items()}
    for name, results in found.items():
        tested = [each.tested for each in results]
        results += [each for each in _local(project, name) if each.tested not in tested]
    return found


def _local(project: Project, name: str) -> list[Result]:
    return [
        Result(tested=each, simulated=simulated, basis=Basis.LOCAL)
        for simulated in (False, True)
        for each in complete_results(report_text(project, image_name(name, simulate=simulated)))
    ]


def _counted(result: Result) -> str:
    tested = result.tested
    counts = f"{tested.passed} passed, {tested.failed} failed, {tested.not_run} not run"
    return f"{phrase(result)}: {counts} ({tested.hardware})"
