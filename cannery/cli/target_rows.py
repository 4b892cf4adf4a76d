# SPDX-License-Identifier: Apache-2.0
"""What the checkout knows of its targets, as ``list`` shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cannery.common.image_names import image_name
from cannery.common.model import Target
from cannery.compat import Compat
from cannery.compat.lifetimes import UNKNOWN, end_of_life, lifetimes_of
from cannery.fetch.needed_files import needed_origins
from cannery.matrix.project import Project
from cannery.registry.records import Record, latest, read_records
from cannery.verify.recording import state_keys
from cannery.verify.results import Basis, Result, known_results, phrase, verdicts
from cannery.verify.stored_report import report_text
from cannery.verify.tested import complete_results


@dataclass(frozen=True, kw_only=True)
class TargetRow:
    """A target with what the checkout knows of it; plain data.

    ``needs`` maps the files that even a simulated build needs to where people get them,
    ``maintained`` components to the last day of their maintenance, or to "unknown", and ``ends``
    are phrases for those that are known. ``phrases`` describe the ``results``, ``verdicts`` those
    that say most. ``published`` is what to pull, and empty if there is no release.
    """

    id: str
    summary: str
    platform: str
    chip: str
    flavour: str
    components: dict[str, str]
    unverified: str
    maintained: dict[str, str]
    ends: list[str]
    needs: dict[str, str]
    results: list[dict[str, Any]]
    phrases: list[str]
    verdicts: list[str]
    published: str

    def missing(self, folder: Path) -> dict[str, str]:
        """Those of the needed files that ``folder`` does not have."""
        return {name: at for name, at in self.needs.items() if not (folder / name).is_file()}


def target_rows(project: Project, targets: Sequence[Target]) -> list[TargetRow]:
    """What the checkout knows of ``targets``.

    Raises:
        MatrixError, FileError: a record of a release, or the recorded results of one of these
            targets are wrong, or cannot be read.
    """
    compat = project.compat()
    records = read_records(project.releases)
    results = _results(project, targets, records)
    return [_row(each, compat, records, results[each.id]) for each in targets]


def _row(
    target: Target, compat: Compat, records: Sequence[Record], results: Sequence[Result]
) -> TargetRow:
    ends = {key: end_of_life(each) for key, each in lifetimes_of(target, compat).items()}
    return TargetRow(
        id=target.id,
        summary=target.summary,
        platform=target.platform,
        chip=target.chip,
        flavour=target.flavour,
        components=target.components,
        unverified=target.unverified,
        maintained=ends,
        ends=[f"{key} until {day}" for key, day in ends.items() if day != UNKNOWN],
        needs=needed_origins(target, simulate=True),
        results=[asdict(result) for result in results],
        phrases=[_counted(result) for result in results],
        verdicts=[phrase(result) for result in verdicts(results)],
        published=_published(latest(records, target.id)),
    )


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


def _published(release: Record | None) -> str:
    return f"{release.registry}/{release.repository}@{release.digest}" if release else ""
