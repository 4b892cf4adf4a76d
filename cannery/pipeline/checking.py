# SPDX-License-Identifier: Apache-2.0
"""Checks an image, shows the results and writes them down."""

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
from cannery.report.verification_text import to_brief, to_text


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
    verbose: bool = False,
) -> None:
    """Check ``image`` as an image of ``target``, show a report and write it as JSON.

    ``verbose`` shows a row for every check; ``brief`` shows one line and the failures. The other
    arguments are those of ``verify``.

    Raises:
        VerificationError: a check failed.
        EngineError: the image cannot be run.
    """
    result = verify(project, target, image=image, name=name, specs=specs, ca=ca, only=only)
    report = report_path(project, name)
    write_files({report: result.to_json()})
    text = to_text(result, verbose=verbose) if verbose or not brief else to_brief(result)
    console.show(text)
    console.say(f"{target.id}: the report is in {report}")
    if result.failed:
        names = sorted({check.name for _, check in result.failed})
        raise VerificationError(
            Problem(
                what=f"{target.id}: {len(names)} checks failed: {', '.join(names)}.",
                fix=f"The image is {image}; no tag was moved to it.",
            )
        )
