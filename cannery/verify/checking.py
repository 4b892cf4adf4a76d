# SPDX-License-Identifier: Apache-2.0
"""Checks an image, and shows and stores the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from cannery.common import console
from cannery.common.errors import Problem, VerificationError
from cannery.common.files import write_files
from cannery.common.model import DeviceKind
from cannery.deploy.run_spec import RunSpec
from cannery.engine.containers import stand_ins
from cannery.matrix.project import Project
from cannery.verify.results import report_path
from cannery.verify.run_checks import Subject, verify
from cannery.verify.verification import Verification, to_brief, to_text


class Detail(StrEnum):
    """The details of the printed report. Failures are always printed in full."""

    BRIEF = "brief"
    """One line."""
    COMPONENTS = "components"
    """A row for each component."""
    CHECKS = "checks"
    """A row for each check, too."""


@dataclass(frozen=True, kw_only=True)
class ImageChecks:
    """How an image is checked; ``ca`` and ``only`` are those of ``verify``.

    ``record`` is called with the result, whether the checks passed or not.
    """

    ca: Path | None = None
    only: Sequence[str] = ()
    detail: Detail = Detail.COMPONENTS
    record: Callable[[Verification], None] = lambda _: None


def check(
    project: Project, subject: Subject, specs: Sequence[RunSpec], options: ImageChecks
) -> None:
    """Check an image, show a report and write it as JSON.

    ``subject.simulated`` is not read: the image itself shows it.

    Raises:
        VerificationError: a check failed, or not all were run; or only one of the image and the
            devices in ``specs`` is simulated, and nothing was checked.
        EngineError: the image cannot be run.
    """
    target = subject.target
    subject = replace(subject, simulated=_is_simulated(subject, specs))
    result = verify(project, subject, specs, ca=options.ca, only=options.only)
    if not any(check.outcome != "not run" for run in result.runs for check in run.checks):
        what = f"{target.id}: no check was run on {subject.name}, so nothing is known of it."
        raise VerificationError(Problem(what=what, fix="Name components that the target has."))
    report = report_path(
        project, target, subject.name, simulated=subject.simulated, only=options.only
    )
    write_files({report: result.to_json()})
    console.show_result(_text(result, options.detail), failed=bool(result.failed))
    console.say(f"{target.id}: the report is in {report}")
    options.record(result)
    if result.failed:
        names = sorted({check.name for _, check in result.failed})
        raise VerificationError(
            Problem(
                what=f"{target.id}: failed checks: {', '.join(names)}.",
                fix=f"The image is {subject.image}; no tag was moved to it.",
            )
        )


def _text(result: Verification, detail: Detail) -> str:
    if detail is Detail.BRIEF:
        return to_brief(result)
    return to_text(result, verbose=detail is Detail.CHECKS)


def _is_simulated(subject: Subject, specs: Sequence[RunSpec]) -> bool:
    """Whether the image is simulated.

    Raises:
        VerificationError: it is, and ``specs`` has no simulated device; or the other way round.
    """
    target, name = subject.target, subject.name
    signs = stand_ins(subject.image, target)
    simulated_device = DeviceKind.SIMULATED in {spec.kind for spec in specs}
    if signs and not simulated_device:
        what = f"{name} is a simulated image ({', '.join(signs)}) and needs --simulate."
        command = f"python build.py test --target {target.id} --image {name} --simulate"
        fix = f"Check it on the simulated device: {command}"
        raise VerificationError(Problem(what=what, fix=fix))
    if simulated_device and not signs:
        what = f"{name} is not a simulated image, and Huawei's CANN cannot use the simulated"
        raise VerificationError(Problem(what=f"{what} driver.", fix="Leave out --simulate."))
    return bool(signs)
