# SPDX-License-Identifier: Apache-2.0
"""``build.py test``: check images that exist."""

from __future__ import annotations

from cannery.cli.common import existing, read, selected
from cannery.errors import EngineError, Problem, UsageError, did_you_mean
from cannery.execute.engine import client as engine
from cannery.execute.engine.buildx import package_index
from cannery.execute.engine.verify import Subject
from cannery.image.checks import components
from cannery.image.names import image_name
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.run import CheckImageOptions
from cannery.options.shared import RequiredTargetOptions
from cannery.pipeline.checking import CheckOptions, Detail, check
from cannery.pipeline.images import device_specs, simulated_host


def run(given: Given, project: Project) -> int:
    """Check the image of every selected target.

    Raises:
        UsageError: --image or --component says what cannot be.
        EngineError: an image does not exist.
        VerificationError: a check failed.
    """
    targets = selected(read(RequiredTargetOptions, given, project), project)
    options = read(CheckImageOptions, given, project)
    if options.image and len(targets) > 1:
        raise UsageError(f"--image needs a single target; {len(targets)} are selected.")
    known = components(project)
    problems = [
        Problem(what=f"unknown component {name!r}.", fix=did_you_mean(name, known))
        for name in options.components
        if name not in known
    ]
    if problems:
        raise UsageError(problems)
    ca = package_index(existing(options.ca), "").ca
    for target in targets:
        name = options.image or image_name(target.id, simulate=options.simulate)
        image = engine.image_id(name)
        if not image:
            flag = " --simulate" if options.simulate else ""
            raise EngineError(
                Problem(
                    what=f"there is no image {name} here.",
                    fix=f"Build it: python build.py --target {target.id}{flag}",
                )
            )
        host = simulated_host(project, target) if options.simulate else None
        check(
            project,
            Subject(target=target, image=image, name=name),
            device_specs(host),
            CheckOptions(
                ca=ca,
                only=options.components,
                detail=Detail.CHECKS if options.verbose else Detail.COMPONENTS,
            ),
        )
    return 0
