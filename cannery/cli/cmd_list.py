# SPDX-License-Identifier: Apache-2.0
"""``build.py list``: the targets, and the state of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cannery.cli import results as printing
from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console, program
from cannery.common.console import columns, fold
from cannery.common.model import Target
from cannery.common.option import option
from cannery.common.references import image_name
from cannery.compat.finding import UNKNOWN, end_of_life, lifetimes_of, unjudged
from cannery.fetch.needs import Missing, Need, Supply, missing_files, real_needs, summary
from cannery.matrix.project import Project
from cannery.options import VERBOSE, TargetOptions
from cannery.registry.records import latest, read_records
from cannery.verify import results
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
    options=ListOptions,
)


def run(options: ListOptions, project: Project) -> None:
    """Print the selected targets in the format that was asked for."""
    targets = selected(options, project)
    if options.format == "names":
        print("\n".join(target.id for target in targets))
    elif options.format == "json":
        printing.show(_documents(project, targets, verbose=options.verbose))
    else:
        print(program.text(_table(target_rows(project, targets), verbose=options.verbose)))


def _table(rows: Sequence[TargetRow], *, verbose: bool) -> str:
    width = console.width()
    files = Missing(row.missing for row in rows)
    states = []
    for row in rows:
        use = row.target.recommended
        parts = [f"recommended for {use}"] if use else []
        parts += [files.needs(row.missing)] if row.missing else []
        parts += map(results.phrase, results.verdicts(row.results))
        parts += ["published"] if row.published else []
        states.append("; ".join(parts) or "not verified")
    ids = [(row.target.id, row.target.docker_arch) for row in rows]
    cells = ((*names, state) for names, state in zip(ids, states, strict=True))
    heads = columns([("target", "platform", "state"), *cells])
    room = max(map(len, heads))
    lines = [f"{heads[0]:<{room}}  summary"]
    for head, row in zip(heads[1:], rows, strict=True):
        line = f"{head:<{room}}  {row.target.summary}"
        fits = not width or len(line) <= width
        lines += [line] if fits else [head, f"    {row.target.summary}"]
        lines += _details(row) if verbose else []
    reasons = [(row.target.id, row.target.unverified) for row in rows if row.target.unverified]
    notes = [f"{name}: not known to work: {why}" for name, why in reasons]
    notes += [f"{row.target.id}: not judged: {what}" for row in rows for what in row.unjudged]
    legend = files.legend("missing files, which even --simulate needs:")
    real = ["files of a real build (--verbose names them):", *summary([r.real for r in rows])]
    for more in (notes, legend, real):
        lines += ["", *more] if more else []
    return "\n".join(fold(lines, width))


def _details(row: TargetRow) -> list[str]:
    target = row.target
    versions = [f"{name} {version}" for name, version in target.components.items()]
    lines = [", ".join([*versions, f"chip {target.chip}", target.platform])]
    ends = [f"{key} until {day}" for key, day in row.maintained.items() if day != UNKNOWN]
    lines += [f"maintained: {', '.join(ends)}"] if ends else []
    for result in row.results:
        tested = result.tested
        counts = f"{tested.passed} passed, {tested.failed} failed, {tested.not_run} not run"
        lines.append(f"{results.phrase(result)}: {counts} ({tested.hardware})")
    lacks = [need for need in row.real if need.supply is not Supply.HERE]
    lines += [f"real build: {need.file.name} ({need.supply})" for need in lacks]
    lines += [row.published] if row.published else []
    return [f"    {line}" for line in lines]


def _documents(
    project: Project, targets: Sequence[Target], *, verbose: bool
) -> list[dict[str, Any]]:
    names = (
        *("id", "summary", "platform", "chip", "flavour", "components"),
        *("unverified", "recommended"),
    )
    documents = [
        {
            **{name: getattr(row.target, name) for name in names},
            "unjudged": row.unjudged,
            "maintained": row.maintained,
            "missing": row.missing,
            "needs": {need.file.name: need.fields for need in row.real},
            "results": [result.fields for result in row.results],
            "published": row.published,
        }
        for row in target_rows(project, targets)
    ]
    if verbose:
        from cannery.publish.catalog import details, gather

        entries = {entry.target.id: entry for entry in gather(project, results.state_keys(project))}
        more = details(project, [entries[target.id] for target in targets])
        documents = [{**row, **facts} for row, facts in zip(documents, more, strict=True)]
    return documents


@dataclass(frozen=True, kw_only=True)
class TargetRow:
    """A target with what the checkout knows of it.

    ``missing`` maps the files that even a simulated build lacks to origins, and ``real`` has the
    needs of a real build. ``maintained`` maps components to the last day of their maintenance, or
    to "unknown". ``unjudged`` says of which application no source says anything, and what one would
    have to name. ``published`` is what to pull, and empty if there is no release.
    """

    target: Target
    unjudged: tuple[str, ...]
    maintained: dict[str, str]
    missing: dict[str, str]
    real: list[Need]
    results: list[results.Result]
    published: str


def target_rows(project: Project, targets: Sequence[Target]) -> list[TargetRow]:
    """What the checkout knows of ``targets``; the engine is not asked for their images."""
    compat, findings = project.compat(), project.matrix().findings
    records = read_records(project.releases)
    recorded = results.known_results(project, targets, records, results.state_keys(project))
    rows = []
    for target in targets:
        verified = [*recorded[target.id]]
        tested = [result.tested for result in verified]
        for simulated in (False, True):
            report = results.report_text(project, image_name(target.id, simulate=simulated))
            verified += [
                results.Result(tested=local, simulated=simulated, basis=results.Basis.LOCAL)
                for local in complete_results(report)
                if local not in tested
            ]
        record = latest(records, target.id)
        rows.append(
            TargetRow(
                target=target,
                unjudged=unjudged(findings.get(target.id, ())),
                maintained={n: end_of_life(end) for n, end in lifetimes_of(target, compat).items()},
                missing=missing_files(target, project.artifacts, simulate=True),
                real=[*real_needs([target], project.artifacts).values()],
                results=verified,
                published=record.by_digest if record else "",
            )
        )
    return rows
