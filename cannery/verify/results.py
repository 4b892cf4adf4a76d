# SPDX-License-Identifier: Apache-2.0
"""What is known of the checks of a target: reports of this checkout, and what was recorded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, model_validator

from cannery.common import console
from cannery.common.errors import FileError, MatrixError, Problem, UsageError
from cannery.common.files import LEFTOVER, day, read_text
from cannery.common.model import DeviceKind, Target
from cannery.common.models import (
    NUMBER,
    MistakesError,
    Model,
    Parsed,
    SchemaVersion,
    matching,
    raise_mistakes,
    read_yaml,
)
from cannery.common.references import image_name
from cannery.image.content_key import KeyInputs, context_files, read_context
from cannery.image.simulator_spec import recipe
from cannery.matrix.project import VERIFIED, Project
from cannery.registry.records import Record, Tested, latest
from cannery.verify.image_checks import checks_version, own_digest
from cannery.verify.verification import Verification

_HEAD = "# Written by 'python build.py build --record'. Do not edit.\n"
_SCHEMA = 3
_AGAIN = "Remove the file, and record the results again with 'build.py build ID --record'."

WHERE = {
    "npu": "NPU",
    "simulated": "simulated device",
    "none": "no device",
    "none_simulated": "no device, simulated packages",
}
"""``Result.where`` in words."""

_DEVICE_NAMES = [str(kind) for kind in DeviceKind]


Count = Annotated[int, Field(ge=0, lt=1_000_000), NUMBER]


class Verified(Model):
    """The result of all checks of a target's image on one kind of device.

    ``key`` is the content key by the committed files, so the same on every machine, ``checks``
    the version of the checks, and ``own_checks`` a hash of those of the project, if it has any.
    """

    image: Literal["vendor", "simulated"]
    device: DeviceKind
    date: Annotated[str, Parsed(day)]
    hardware: str
    passed: Count
    failed: Count
    not_run: Count
    key: Annotated[
        str, matching(r"sha256:[0-9a-f]{64}", "{text!r} is not 'sha256:' and 64 digits.")
    ]
    checks: Count
    own_checks: Annotated[str, matching(r"[0-9a-f]{64}", "{text!r} is no hash.")] = ""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        devices = (DeviceKind.NONE, DeviceKind.SIMULATED if self.simulated else DeviceKind.NPU)
        if self.device not in devices:
            packages = "simulated packages" if self.simulated else "Huawei's packages"
            what = f"an image with {packages} is not checked on device {self.device}."
            raise MistakesError([(("device",), what, f"Use {' or '.join(devices)}.")])
        if not self.passed + self.failed:
            what = "no check was run, so there is no result."
            raise MistakesError([(("passed",), what, "Remove it.")])
        return self

    @classmethod
    def of(
        cls, tested: Tested, *, simulated: bool, key: str, checks: int, own_checks: str = ""
    ) -> Self:
        """The result ``tested`` of an image with simulated packages, or with the vendor's."""
        more = {"image": "simulated" if simulated else "vendor", "key": key, "checks": checks}
        more |= {"own_checks": own_checks} if own_checks else {}
        return cls.model_validate({**asdict(tested), **more})

    @property
    def simulated(self) -> bool:
        return self.image == "simulated"

    @property
    def tested(self) -> Tested:
        counts = self.model_dump(mode="json", exclude={"image", "key", "checks", "own_checks"})
        return Tested(**counts)

    @property
    def position(self) -> tuple[bool, int]:
        """Its place in the file; a newer result of an equal place replaces it."""
        return self.simulated, [*DeviceKind].index(self.device)


class _File(Model):
    schema_: Annotated[str, SchemaVersion(_SCHEMA, _AGAIN)] = Field(alias="schema")
    results: tuple[Verified, ...] = ()

    @model_validator(mode="after")
    def _different(self) -> Self:
        positions = [result.position for result in self.results]
        what = "this image and device have a result already."
        raise_mistakes(
            (("results", number, "device"), what, "Remove one.")
            for number, position in enumerate(positions)
            if position in positions[:number]
        )
        return self


def path_of(root: Path, target: str) -> Path:
    """The file of ``target`` in the checkout ``root``."""
    return root / VERIFIED / f"{target}.yaml"


def updated(before: Iterable[Verified], run: Iterable[Verified]) -> tuple[Verified, ...]:
    """The results ``before`` a run, with those of the run in their places."""
    results = {result.position: result for result in (*before, *run)}
    return tuple(results[position] for position in sorted(results))


def to_text(results: Iterable[Verified]) -> str:
    """The content of a target's file; equal results give an equal text."""
    ordered = sorted(results, key=lambda result: result.position)
    rows = [result.model_dump(mode="json", exclude_defaults=True) for result in ordered]
    content = {"schema": _SCHEMA, "results": rows}
    return _HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000)


def read_verified(root: Path, targets: Iterable[str]) -> dict[str, tuple[Verified, ...]]:
    """The results of each of ``targets`` in the checkout ``root``; none where there is no file."""
    verified: dict[str, tuple[Verified, ...]] = {}
    problems: list[Problem] = []
    for target in targets:
        path = path_of(root, target)
        try:
            # A link to nothing is a mistake; its results were not removed on purpose.
            is_there = os.path.lexists(path)
            file = read_yaml(_File, path, f"{VERIFIED}/{path.name}") if is_there else None
            verified[target] = updated((), file.results if file else ())
        except MatrixError as error:
            problems += error.problems
    if problems:
        raise MatrixError(problems)
    return verified


def record(project: Project, target: Target, result: Verification, *, image: KeyInputs) -> None:
    """Write ``result`` to the file of ``target``, whose image was built from ``image``."""
    checks, name = checks_version(project), target.id
    # A kind of device on which no check was run proves nothing.
    run = [
        Verified.of(
            tested,
            simulated=result.simulated,
            key=image.key,
            checks=checks,
            own_checks=own_digest(project),
        )
        for tested in result.counts()
        if tested.passed or tested.failed
    ]
    path = path_of(project.root, name)
    with project.editing():
        before = read_verified(project.root, [name])[name]
        project.write({path: to_text(updated(before, run))})
    console.say(f"{name}: the results are in {path.relative_to(project.root)}; commit this file")


KeyOf = Callable[[Target, bool], str]
"""The content key of a target's image; the flag says whether its packages are simulated."""


def state_keys(project: Project) -> KeyOf:
    """The content keys by the current files of the checkout, the same on every machine.

    The key in an image's label can differ from them, because that one also depends on the base
    image of the machine. A key is empty if there are no simulated packages for the target's chip.
    """
    context = read_context(project)

    def key_of(target: Target, simulated: bool) -> str:
        try:
            simulator = recipe(target) if simulated else ""
        except UsageError:
            return ""
        folder = project.images / target.id
        files = {
            str(path.relative_to(folder)): read_text(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.endswith(LEFTOVER)
        }
        return KeyInputs.committed(target, context_files(files, context), simulator=simulator).key

    return key_of


class Basis(StrEnum):
    """The image of a result; the later ones weigh more for the checkout."""

    OLDER = "older"
    """An image or checks of an earlier state."""
    LOCAL = "local"
    """An image that was built on this machine, of unknown files."""
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
    def fields(self) -> dict[str, Any]:
        """The same for programs."""
        return {**asdict(self), "where": self.where}

    @property
    def rank(self) -> tuple[bool, int, int, str]:
        """Sorts results by how much they say: failures last, else by device, image and date."""
        device = _DEVICE_NAMES.index(self.tested.device)
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
    """
    selected = {target.id: target for target in targets}
    records, checks = [*releases], (checks_version(project), own_digest(project))
    known: dict[str, tuple[Result, ...]] = {}
    for name, verified in read_verified(project.root, selected).items():
        results = []
        for one in verified:
            changed = {
                "contents": one.key != key_of(selected[name], one.simulated),
                "checks": (one.checks, one.own_checks) != checks,
            }
            moved = tuple(part for part, is_changed in changed.items() if is_changed)
            basis = Basis.OLDER if moved else Basis.CURRENT
            result = Result(tested=one.tested, simulated=one.simulated, basis=basis, moved=moved)
            results.append(result)
        if release := latest(records, name):
            results += [
                Result(tested=tested, simulated=release.simulated, basis=Basis.PUBLISHED)
                for tested in release.verified
                if tested.device in _DEVICE_NAMES and (tested.passed or tested.failed)
            ]
        known[name] = tuple(results)
    return known


def verdicts(results: Iterable[Result]) -> tuple[Result, ...]:
    """The weightiest result of images with the vendor's packages, and of simulated ones.

    A failure weighs more than any pass.
    """
    best: dict[bool, Result] = {}
    for result in sorted(results, key=lambda result: result.rank):
        best[result.simulated] = result
    return tuple(best[simulated] for simulated in sorted(best))


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
