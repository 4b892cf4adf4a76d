# SPDX-License-Identifier: Apache-2.0
"""By what a simulated image can be told, from outside and from inside."""

from __future__ import annotations

from cannery.common.model import Target
from cannery.deploy.run_spec import DRIVER
from cannery.image.record import interpreter_paths

LABEL = "io.cannery.simulated"
"""The label that is ``true`` for simulated images, and ``false`` for others built by build.py."""

ARGUMENT = "SIMULATED"
"""The build argument without which no Dockerfile takes stand-ins, and with which it needs them."""

ENVIRONMENT = {"CANNERY_SIMULATED": "1"}
"""What the environment of a simulated image has."""

MARKERS = "/usr/local/Ascend/simulated"
"""The folder of an image in which each simulated package that was installed has a file."""


DRIVER_MARKER = f"{DRIVER}/SIMULATED"
"""The file that a simulated driver has, and no other."""


def marker_paths(target: Target) -> tuple[str, ...]:
    """The paths of which one is in any image of ``target`` that holds a stand-in."""
    site_packages = interpreter_paths(target)["site_packages"]
    return MARKERS, f"{site_packages}/apex/SIMULATED"


def simulated_labels(target: Target) -> dict[str, str]:
    """The labels of a simulated image that differ from those of the real one."""
    return {
        "org.opencontainers.image.title": f"{target.id}-sim",
        "org.opencontainers.image.description": (
            f"SIMULATED, for tests; results say nothing about an NPU: {target.summary}"
        ),
        LABEL: "true",
    }
