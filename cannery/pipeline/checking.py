# SPDX-License-Identifier: Apache-2.0
"""Checks an image and keeps what came out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cannery import console
from cannery.deploy.run_spec import DeviceKind, RunSpec
from cannery.errors import Problem, VerificationError
from cannery.execute.engine.stand_ins import stand_ins
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
        VerificationError: a check failed; or the image is simulated and no device of ``specs`` is,
            or the other way round, and nothing was checked.
        EngineError: the image cannot be run.
    """
    simulated = _is_simulated(target, image, name, specs)
    result = verify(
        project,
        target,
        image=image,
        name=name,
        simulated=simulated,
        specs=specs,
        ca=ca,
        only=only,
    )
    report = report_path(project, target, name)
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


def _is_simulated(target: Target, image: str, name: str, specs: Sequence[RunSpec]) -> bool:
    """Whether ``image`` is simulated; it must be exactly where a device of ``specs`` is."""
    signs = stand_ins(image, target)
    asked = DeviceKind.SIMULATED in {spec.kind for spec in specs}
    if signs and not asked:
        what = f"{name} is a simulated image ({', '.join(signs)}), and it was to be checked as a"
        command = f"python build.py test --target {target.id} --image {name} --simulate"
        fix = f"Check it on the simulated device: {command}"
        raise VerificationError(Problem(what=f"{what} real one.", fix=fix))
    if asked and not signs:
        what = f"{name} is not a simulated image, and the vendor's CANN cannot use the simulated"
        raise VerificationError(Problem(what=f"{what} driver.", fix="Leave out --simulate."))
    return bool(signs)
