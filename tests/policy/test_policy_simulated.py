# SPDX-License-Identifier: Apache-2.0
"""A Dockerfile takes simulated packages only if it is told so, and then the image says so."""

from __future__ import annotations

import re

from cannery.common.model import Target
from cannery.image.plan import SIMULATED_ARGUMENT, SIMULATED_ENVIRONMENT
from tests.policy.dockerfile import CHOSEN, Instruction, assignments


def test_simulated_packages_need_the_argument_and_the_image_says_so(
    target: Target, dockerfile: list[Instruction]
) -> None:
    simulated = {name for name in target.artifacts if name not in target.real_artifacts}
    asking = {each.stage for each in dockerfile if each.word == "RUN" and "$SIMULATED" in each.rest}
    named = {re.sub("^(layer|wheels-vendor)-", "", name) for name in asking}
    assert named == {*simulated, "guard"}
    declared = [
        each.stage
        for each in dockerfile
        if each.word == "ARG" and SIMULATED_ARGUMENT in each.rest.split()
    ]
    assert asking == {*declared}
    last = [each for each in dockerfile if each.stage == "simulated-image"]
    assert [each.word for each in last] == ["FROM", "ENV", "LABEL"]
    assert assignments(last[1].rest) == SIMULATED_ENVIRONMENT
    assert [each for each in dockerfile if each.stage == "result"] == dockerfile[-1:]
    assert dockerfile[-1].rest.split()[0] == CHOSEN
