# SPDX-License-Identifier: Apache-2.0
"""Checks an image, shows the results and writes them down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cannery import console
from cannery.deploy.run_spec import RunSpec
from cannery.errors import Problem, VerificationError
from cannery.execute.engine.verify import verify
from cannery.files import write_files
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.pipeline.images import report_path
from cannery.report.verification import Verification
from cannery.report.verification_text import to_brief, to_text


class Detail(StrEnum):
    """How much of a report is shown; failures are always shown in full."""

    BRIEF = "brief"
    """One line."""
    COMPONENTS = "components"
    """A row for each component."""
    CHECKS = "checks"
    """A row for each check, too."""


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """How an image is checked; ``ca`` and ``only`` are those of ``verify``.

    ``record`` is called with the result, whether the checks passed or not.
    """

    ca: Path | None = None
    only: Sequence[str] = ()
    detail: Detail = Detail.COMPONENTS
    record: Callable[[Verification], None] = lambda _: None


def check(
    project: Project,
    target: Target,
    *,
    image: str,
    name: str,
    specs: Sequence[RunSpec],
    options: CheckOptions,
) -> None:
    """Check ``image`` as an image of ``target``, show a report and write it as JSON.

    The arguments are those of ``verify``.

    Raises:
        VerificationError: a check failed.
        EngineError: the image cannot be run.
    """
    result = verify(
        project, target, image=image, name=name, specs=specs, ca=options.ca, only=options.only
    )
    report = report_path(project, name)
    write_files({report: result.to_json()})
    console.show(_text(result, options.detail))
    console.say(f"{target.id}: the report is in {report}")
    options.record(result)
    if result.failed:
        names = sorted({check.name for _, check in result.failed})
        raise VerificationError(
            Problem(
                what=f"{target.id}: {len(names)} checks failed: {', '.join(names)}.",
                fix=f"The image is {image}; no tag was moved to it.",
            )
        )


def _text(result: Verification, detail: Detail) -> str:
    if detail is Detail.BRIEF:
        return to_brief(result)
    return to_text(result, verbose=detail is Detail.CHECKS)
