# SPDX-License-Identifier: Apache-2.0
"""Checks an image and keeps what came out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cannery import console
from cannery.deploy.run_spec import RunSpec
from cannery.errors import Problem, VerificationError
from cannery.execute.engine.verify import verify
from cannery.files import write_files
from cannery.matrix.project import Project
from cannery.model import Target
from cannery.pipeline.images import report_path


def check(
    project: Project,
    target: Target,
    *,
    image: str,
    name: str,
    specs: Sequence[RunSpec],
    ca: Path | None = None,
    only: Sequence[str] = (),
    brief: bool = False,
) -> None:
    """Check ``image`` as an image of ``target``, show the report and keep it as JSON.

    ``brief`` leaves out of what is shown what passed. The other arguments are those of ``verify``.

    Raises:
        VerificationError: a check failed.
        EngineError: the image cannot be run.
    """
    result = verify(project, target, image=image, name=name, specs=specs, ca=ca, only=only)
    report = report_path(project, name)
    write_files({report: result.to_json()})
    console.show(result.to_brief() if brief else result.to_text())
    console.say(f"{target.id}: the report is in {report}")
    if result.failed:
        names = sorted({check.name for _, check in result.failed})
        raise VerificationError(
            Problem(
                what=f"{target.id}: {len(result.failed)} checks failed: {', '.join(names)}.",
                fix=f"The image is {image}; no name was moved to it.",
            )
        )
