# SPDX-License-Identifier: Apache-2.0
"""``build.py test``: check images that exist."""

from __future__ import annotations

import argparse

from cannery.cli.common import PROJECT, package_index_of, selected
from cannery.errors import EngineError, Problem, UsageError, did_you_mean
from cannery.execute.engine import client as engine
from cannery.image.checks import components
from cannery.image.names import image_name
from cannery.pipeline.checking import check
from cannery.pipeline.images import device_specs, simulated_host


def run(options: argparse.Namespace) -> int:
    """Check the image of every selected target.

    Raises:
        UsageError: --image or --component says what cannot be.
        EngineError: an image does not exist.
        VerificationError: a check failed.
    """
    targets = selected(options)
    if options.image and len(targets) > 1:
        raise UsageError("--image names one image, and --target several targets.")
    known = components(PROJECT)
    problems = [
        Problem(what=f"there are no checks of {name!r}.", fix=did_you_mean(name, known))
        for name in options.component
        if name not in known
    ]
    if problems:
        raise UsageError(problems)
    source = package_index_of(options)
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
        host = simulated_host(PROJECT, target) if options.simulate else None
        check(
            PROJECT,
            target,
            image=image,
            name=name,
            specs=device_specs(host),
            ca=source.ca,
            only=options.component,
        )
    return 0
