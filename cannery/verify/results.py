# SPDX-License-Identifier: Apache-2.0
"""What is known of the checks of a target: reports of this checkout, and what was recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cannery.common.errors import FileError
from cannery.common.files import read_text
from cannery.common.model import DeviceKind, Target
from cannery.common.references import image_name
from cannery.matrix.project import Project
from cannery.registry.records import Record, Tested, latest
from cannery.verify.image_checks import checks_version
from cannery.verify.verified import KeyOf, Verified, read_verified

WHERE = {
    "npu": "NPU",
    "simulated": "simulated device",
    "none": "no device",
    "none_simulated": "no device, simulated packages",
}
"""``Result.where`` in words."""

_DEVICES = [str(kind) for kind in DeviceKind]


class Basis(StrEnum):
    """The image that a result is about; the later ones say more about the checkout."""

    OLDER = "older"
    """An image or checks of an earlier state."""
    LOCAL = "local"
    """An image that was built on this machine; of which files is not known."""
    PUBLISHED = "published"
    """The image of the newest release."""
    CURRENT = "current"
    """An image of the files that are checked out."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of the checks on one kind of device.

    ``simulated`` says whether simulated packages were in the image. ``moved`` says
    what has changed since, ``contents`` of the image or ``checks``, if ``basis`` is OLDER.
    """

    tested: Tested
    simulated: bool
    basis: Basis
    moved: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The kind of device, or ``none_simulated`` for simulated packages without a device."""
        bare = self.simulated and self.tested.device == DeviceKind.NONE
        return "none_simulated" if bare else self.tested.device

    @property
    def rank(self) -> tuple[bool, int, int, str]:
        """Sorts results by how much they say: failures last, else by device, image and date."""
        device = _DEVICES.index(self.tested.device)
        basis = [*Basis].index(self.basis)
        return self.tested.failed > 0, device, basis, self.tested.date


def known_results(
    project: Project,
    targets: Iterable[Target],
    releases: Iterable[Record],
    key_of: KeyOf,
) -> dict[str, tuple[Result, ...]]:
    """Id to every known result of each of ``targets``.

    ``key_of`` returns the content keys by the checked out files.

    Raises:
        MatrixError, FileError: as ``read_verified``.
    """
    every = {target.id: target for target in targets}
    verified = read_verified(project.root, every)
    records = [*releases]
    checks = checks_version(project)
    return {
        name: _results(every[name], latest(records, name), own, key_of, checks)
        for name, own in verified.items()
    }


def _results(
    target: Target,
    release: Record | None,
    verified: Iterable[Verified],
    key_of: KeyOf,
    checks: int,
) -> tuple[Result, ...]:
    found = []
    for each in verified:
        same = {"contents": each.key == key_of(target, each.simulated)}
        same["checks"] = each.checks == checks
        moved = tuple(name for name, is_same in same.items() if not is_same)
        basis = Basis.OLDER if moved else Basis.CURRENT
        found.append(Result(tested=each.tested, simulated=each.simulated, basis=basis, moved=moved))
    if release:
        found += [
            Result(tested=each, simulated=release.simulated, basis=Basis.PUBLISHED)
            for each in release.verified
            if each.device in _DEVICES and (each.passed or each.failed)
        ]
    return tuple(found)


def verdicts(results: Iterable[Result]) -> tuple[Result, ...]:
    """The result that says most about images with the vendor's packages, and about simulated ones.

    A failure says more than any pass.
    """
    found: dict[bool, Result] = {}
    for each in sorted(results, key=lambda each: each.rank):
        found[each.simulated] = each
    return tuple(found[simulated] for simulated in sorted(found))


def phrase(result: Result) -> str:
    """As in ``verified (simulated device) 2026-11-21, older state (checks)``."""
    tested = result.tested
    outcome = "failed" if tested.failed else "verified"
    basis = {
        Basis.CURRENT: "",
        Basis.OLDER: f", older state ({', '.join(result.moved)})",
        Basis.LOCAL: ", built here",
        Basis.PUBLISHED: ", published image",
    }[result.basis]
    return f"{outcome} ({WHERE[result.where]}) {tested.date}{basis}"


def report_text(project: Project, name: str) -> str:
    """The last report on ``name``, a target's own image name; empty if there is none."""
    try:
        return read_text(_own_report(project, name))
    except (FileNotFoundError, FileError):
        return ""


def report_path(
    project: Project, target: Target, name: str, *, simulated: bool, only: Sequence[str] = ()
) -> Path:
    """The path of the report on the image ``name`` as one of ``target``.

    Builds and pushes use only the report on the target's own image: on an image that has the
    target's own name and is simulated exactly if that name says so. A report on some components,
    ``only``, never takes the place of one on all of them.
    """
    if name == image_name(target.id, simulate=simulated) and not only:
        return _own_report(project, name)
    digest = hashlib.sha256("\0".join([name, *only]).encode()).hexdigest()
    return project.reports / "others" / f"{target.id}-{digest[:12]}.json"


def audit_path(project: Project, reference: str) -> Path:
    """The path of the report on an image of any origin."""
    digest = hashlib.sha256(reference.encode()).hexdigest()
    return project.reports / "others" / f"image-{digest[:12]}.json"


def _own_report(project: Project, name: str) -> Path:
    return project.reports / f"{name.replace(':', '_')}.json"
