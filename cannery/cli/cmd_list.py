# SPDX-License-Identifier: Apache-2.0
"""``build.py list``: the targets, and the state of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cannery.cli.command import Command, Given
from cannery.cli.common import read, selected
from cannery.cli.target_rows import TargetRow, target_rows
from cannery.common import console
from cannery.common.columns import columns, fold
from cannery.common.option import option
from cannery.common.printable import json_text
from cannery.fetch.missing_report import Missing
from cannery.matrix.project import Project
from cannery.options import VERBOSE, TargetOptions


@dataclass(frozen=True, kw_only=True)
class ListOptions(TargetOptions):
    """How targets are listed."""

    format: str = option(
        "a table for people, JSON for programs, or one id per line",
        default="table",
        choices=("table", "json", "names"),
    )
    verbose: bool = VERBOSE.field(help="show the versions and all results of each target")


COMMAND = Command(
    description="Lists the targets of matrix.yaml with their state: where they were verified, "
    "whether they are published, and the files that even a simulated build lacks. --verbose "
    "adds the versions. "
    "Builds nothing and needs no engine.",
    reads="matrix.yaml, compat.yaml, artifacts/, verified/, releases/ and .cannery/reports/",
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
        text = _json(project, target_rows(project, targets))
    else:
        text = _table(project, target_rows(project, targets), verbose=options.verbose)
    print(text)
    return 0


def _table(project: Project, rows: Sequence[TargetRow], *, verbose: bool) -> str:
    width = console.width()
    missing = [each.missing(project.artifacts) for each in rows]
    files = Missing(missing)
    states = [_state(*each, files) for each in zip(rows, missing, strict=True)]
    ids = (each.id for each in rows)
    heads = columns([("target", "state"), *zip(ids, states, strict=True)])
    room = max(map(len, heads))
    lines = [f"{heads[0]:<{room}}  summary"]
    for head, each in zip(heads[1:], rows, strict=True):
        line = f"{head:<{room}}  {each.summary}"
        fits = not width or len(line) <= width
        lines += [line] if fits else [head, f"    {each.summary}"]
        lines += _details(each) if verbose else []
    notes = [f"{each.id}: not known to work: {each.unverified}" for each in rows if each.unverified]
    legend = files.legend("missing files, which even --simulate needs:")
    for more in (notes, legend):
        lines += ["", *more] if more else []
    return "\n".join(fold(lines, width))


def _state(row: TargetRow, missing: dict[str, str], files: Missing) -> str:
    """One phrase; ``files`` numbers the missing files."""
    parts = [files.needs(missing)] if missing else []
    parts += row.verdicts
    parts += ["published"] if row.published else []
    return "; ".join(parts) or "not verified"


def _details(row: TargetRow) -> list[str]:
    """The versions and the results of a target, indented."""
    versions = [f"{name} {version}" for name, version in row.components.items()]
    lines = ["    " + ", ".join([*versions, f"chip {row.chip}", row.platform])]
    lines += [f"    maintained: {', '.join(row.ends)}"] if row.ends else []
    lines += [f"    {each}" for each in row.phrases]
    return [*lines, *([f"    {row.published}"] if row.published else [])]


def _json(project: Project, rows: Sequence[TargetRow]) -> str:
    found = [
        {
            "id": each.id,
            "summary": each.summary,
            "platform": each.platform,
            "chip": each.chip,
            "flavour": each.flavour,
            "components": each.components,
            "unverified": each.unverified,
            "maintained": each.maintained,
            "missing": each.missing(project.artifacts),
            "results": each.results,
            "published": each.published,
        }
        for each in rows
    ]
    return json_text(found)
