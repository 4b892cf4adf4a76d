# SPDX-License-Identifier: Apache-2.0
"""``build.py list``: the targets, and the state of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from cannery import console
from cannery.cli.common import read, selected
from cannery.compat.facts import Compat
from cannery.compat.lifetimes import UNKNOWN, end_of_life, lifetimes_of
from cannery.image.names import image_name
from cannery.image.needed_files import missing_files
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.options.given import Given
from cannery.options.matrix import ListOptions
from cannery.publish.records import Record, latest, read_records
from cannery.report.columns import columns, fold
from cannery.report.missing import Missing
from cannery.report.results import Basis, Result, known_results, phrase, verdicts
from cannery.report.tested import complete_results
from cannery.report.verified import FOLDER


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """A target with what the checkout knows of it.

    ``missing`` maps the files that even a simulated build lacks to where people get them, and
    ``maintained`` components to the last day of their maintenance, or to "unknown".
    """

    target: Target
    maintained: dict[str, str]
    missing: dict[str, str]
    results: tuple[Result, ...]
    release: Record | None

    @property
    def published(self) -> str:
        """What to pull; empty if there is no release."""
        release = self.release
        return f"{release.registry}/{release.repository}@{release.digest}" if release else ""

    def state(self, files: Missing) -> str:
        """One phrase; ``files`` numbers the missing files."""
        parts = [files.needs(self.missing)] if self.missing else []
        parts += [phrase(each) for each in verdicts(self.results)]
        parts += ["published"] if self.published else []
        return "; ".join(parts) or "not verified"


def run(given: Given, project: Project) -> int:
    """Print the selected targets in the format that was asked for.

    Raises:
        MatrixError, FileError: matrix.yaml or a record is wrong, or cannot be read.
    """
    options = read(ListOptions, given, project)
    targets = selected(options, project)
    if options.format == "names":
        text = "\n".join(target.id for target in targets)
    elif options.format == "json":
        text = _json(_listed(project, targets, project.compat()))
    else:
        compat = project.compat() if options.verbose else None
        text = _table(_listed(project, targets, compat), verbose=options.verbose)
    print(text)
    return 0


def _listed(project: Project, targets: Sequence[Target], compat: Compat | None) -> list[_Listed]:
    """The state of ``targets``; without ``compat``, their maintenance is left out."""
    results: dict[str, tuple[Result, ...]] = {}
    releases: dict[str, Record | None] = {}
    if any((project.root / name).is_dir() for name in (FOLDER, "releases")):
        # A third of the time of a listing would be importing this.
        from cannery.pipeline.recording import state_keys

        records = read_records(project.releases)
        results = known_results(project, targets, records, state_keys(project))
        releases = {target.id: latest(records, target.id) for target in targets}
    for name, local in _local(project, targets).items():
        recorded = results.get(name, ())
        known = [each.tested for each in recorded]
        results[name] = (*recorded, *(each for each in local if each.tested not in known))
    return [
        _Listed(
            target=target,
            maintained=_maintained(target, compat) if compat else {},
            missing=missing_files(target, project.artifacts, simulate=True),
            results=results.get(target.id, ()),
            release=releases.get(target.id),
        )
        for target in targets
    ]


def _maintained(target: Target, compat: Compat) -> dict[str, str]:
    return {key: end_of_life(each) for key, each in lifetimes_of(target, compat).items()}


def _local(project: Project, targets: Sequence[Target]) -> dict[str, tuple[Result, ...]]:
    """The results of the last checks on this machine; the engine is not asked for the images."""
    if not (project.state / "reports").is_dir():
        return {}
    from cannery.report.stored import report_text

    found: dict[str, tuple[Result, ...]] = {}
    for target in targets:
        for simulated in (False, True):
            text = report_text(project, image_name(target.id, simulate=simulated))
            more = [
                Result(tested=each, simulated=simulated, basis=Basis.LOCAL)
                for each in complete_results(text)
            ]
            found[target.id] = (*found.get(target.id, ()), *more)
    return found


def _table(listed: Sequence[_Listed], *, verbose: bool) -> str:
    width = console.width()
    files = Missing(each.missing for each in listed)
    heads = columns([("target", "state"), *((t.target.id, t.state(files)) for t in listed)])
    room = max(map(len, heads))
    lines = [f"{heads[0]:<{room}}  summary"]
    for head, each in zip(heads[1:], listed, strict=True):
        line = f"{head:<{room}}  {each.target.summary}"
        fits = not width or len(line) <= width
        lines += [line] if fits else [head, f"    {each.target.summary}"]
        lines += _details(each) if verbose else []
    notes = [
        f"{each.target.id}: not known to work: {each.target.unverified}"
        for each in listed
        if each.target.unverified
    ]
    legend = files.legend("missing files, which even --simulate needs:")
    for more in (notes, legend):
        lines += ["", *more] if more else []
    return "\n".join(fold(lines, width))


def _details(listed: _Listed) -> list[str]:
    """The versions and the results of a target, indented."""
    target = listed.target
    versions = [f"{name} {version}" for name, version in target.components.items()]
    lines = ["    " + ", ".join([*versions, f"chip {target.chip}", target.platform])]
    ends = [f"{name} until {day}" for name, day in listed.maintained.items() if day != UNKNOWN]
    lines += [f"    maintained: {', '.join(ends)}"] if ends else []
    for each in listed.results:
        tested = each.tested
        counts = f"{tested.passed} passed, {tested.failed} failed, {tested.not_run} not run"
        lines.append(f"    {phrase(each)}: {counts} ({tested.hardware})")
    return [*lines, *([f"    {listed.published}"] if listed.published else [])]


def _json(listed: Sequence[_Listed]) -> str:
    found = [
        {
            "id": each.target.id,
            "summary": each.target.summary,
            "platform": each.target.platform,
            "chip": each.target.chip,
            "flavour": each.target.flavour,
            "components": each.target.components,
            "unverified": each.target.unverified,
            "maintained": each.maintained,
            "missing": each.missing,
            "results": [asdict(result) for result in each.results],
            "published": each.published,
        }
        for each in listed
    ]
    return json.dumps(found, indent=2, ensure_ascii=False)
