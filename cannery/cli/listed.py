# SPDX-License-Identifier: Apache-2.0
"""What the checkout knows of its targets, as ``list`` shows it. It is kept until a file changes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cannery.common.errors import CanneryError
from cannery.matrix.project import VERIFIED, Project

if TYPE_CHECKING:
    from cannery.registry.records import Record
    from cannery.verify.results import Result
    from cannery.verify.verified import Verified


@dataclass(frozen=True, kw_only=True)
class Listed:
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


def listed(project: Project, names: Sequence[str]) -> list[Listed]:
    """The targets with the ids ``names``.

    Raises:
        MatrixError, FileError: matrix.yaml, a record of a release, or the recorded results of one
            of these targets are wrong, or cannot be read.
    """
    verified = project.root / VERIFIED
    images = [project.images / path.stem for path in sorted(verified.glob("*.yaml"))]
    results = (verified, project.releases, project.reports)
    inputs = project.inputs(*results, project.build_context, *images)
    found = project.cache.computed("listed", inputs, lambda: _every(project))
    if wrong := [name for name in names if name not in found]:
        # Imported here, because this is about to fail.
        from cannery.verify.verified import read_verified

        read_verified(project.root, wrong)
    return [Listed(**found[name]) for name in names]


def _every(project: Project) -> dict[str, dict[str, Any]]:
    """Id to what is known of each target, but for those whose recorded results are wrong."""
    # Imported here, because all of this takes longer than a listing without it.
    from cannery.compat.lifetimes import UNKNOWN, end_of_life, lifetimes_of
    from cannery.fetch.needed_files import needed_origins
    from cannery.registry.records import latest, read_records
    from cannery.verify.results import phrase, verdicts

    compat = project.compat()
    records = read_records(project.releases)
    results = _results(project, records)
    found = {}
    targets = project.matrix().targets
    for name in results:
        target = targets[name]
        ends = {key: end_of_life(each) for key, each in lifetimes_of(target, compat).items()}
        each = Listed(
            id=name,
            summary=target.summary,
            platform=target.platform,
            chip=target.chip,
            flavour=target.flavour,
            components=target.components,
            unverified=target.unverified,
            maintained=ends,
            ends=[f"{key} until {day}" for key, day in ends.items() if day != UNKNOWN],
            needs=needed_origins(target, simulate=True),
            results=[asdict(result) for result in results[name]],
            phrases=[_counted(result) for result in results[name]],
            verdicts=[phrase(result) for result in verdicts(results[name])],
            published=_published(latest(records, name)),
        )
        found[name] = vars(each)
    return found


def _results(project: Project, records: Sequence[Record]) -> dict[str, list[Result]]:
    """Id to the results that are recorded, and those of the last checks on this machine.

    The engine is not asked for the images. What is recorded of a target in a wrong file matters
    only where that target is shown, so it is left out.
    """
    from cannery.verify.recording import state_keys
    from cannery.verify.results import results_of
    from cannery.verify.verified import read_verified

    targets = project.matrix().targets
    verified: dict[str, tuple[Verified, ...]] = {}
    for name in targets:
        with suppress(CanneryError):
            verified |= read_verified(project.root, [name])
    recorded = results_of(targets, verified, records, state_keys(project))
    found = {name: [*results] for name, results in recorded.items()}
    for name, results in found.items():
        known = [each.tested for each in results]
        results += [each for each in _local(project, name) if each.tested not in known]
    return found


def _local(project: Project, name: str) -> list[Result]:
    from cannery.common.image_names import image_name
    from cannery.verify.results import Basis, Result
    from cannery.verify.stored_report import report_text
    from cannery.verify.tested import complete_results

    return [
        Result(tested=each, simulated=simulated, basis=Basis.LOCAL)
        for simulated in (False, True)
        for each in complete_results(report_text(project, image_name(name, simulate=simulated)))
    ]


def _counted(result: Result) -> str:
    from cannery.verify.results import phrase

    tested = result.tested
    counts = f"{tested.passed} passed, {tested.failed} failed, {tested.not_run} not run"
    return f"{phrase(result)}: {counts} ({tested.hardware})"


def _published(release: Record | None) -> str:
    return f"{release.registry}/{release.repository}@{release.digest}" if release else ""
