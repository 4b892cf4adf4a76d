# SPDX-License-Identifier: Apache-2.0
"""What an image says about itself: target.json, and the versions that pip must not move."""

from __future__ import annotations

from typing import Any

from cannery.image.environment import image_environment, toolkit_home
from cannery.image.lock import Lock
from cannery.image.requirements import overrides
from cannery.model import PythonSource, Target
from cannery.syntax.specifiers import normal_name, parse_requirements

_PINNED = ("torch", "torch-npu", "numpy", "mindspore")
"""Packages that a later ``pip install`` must not move."""


def interpreter_paths(target: Target) -> dict[str, str]:
    """The paths of the image's interpreter, its prefix and its site-packages."""
    minor = target.python.minor
    if target.python.source is PythonSource.DEBIAN:
        prefix, site = "/usr", f"/usr/local/lib/python{minor}/dist-packages"
    else:
        prefix = f"/usr/local/python{minor}"
        site = f"{prefix}/lib/python{minor}/site-packages"
    return {"prefix": prefix, "interpreter": f"{prefix}/bin/python{minor}", "site_packages": site}


def target_record(target: Target, lock: Lock) -> dict[str, Any]:
    """The content of target.json, which is in the image and which image tests compare it with."""
    return {
        "id": target.id,
        "platform": target.platform,
        "machine": target.machine,
        "chip": target.chip,
        "operators": target.operators,
        "components": target.components,
        "cxx_abi": target.cxx_abi,
        "toolkit_home": toolkit_home(target),
        "overridden": [normal_name(each.name) for each in parse_requirements(overrides(target))],
        **interpreter_paths(target),
        "wheels": {wheel.name: wheel.version for wheel in lock.wheels},
        "vendor_wheels": {name: wheel.version for name, wheel in target.vendor_wheels.items()},
        "constrained": [pin.split("==")[0] for pin in pins(target, lock)],
        "environment": {k: v.strip('"') for k, v in image_environment(target).items()},
    }


def pins(target: Target, lock: Lock) -> list[str]:
    """The packages that stay as they are in the image, as ``name==version``."""
    vendor = {normal_name(name): wheel.version for name, wheel in target.vendor_wheels.items()}
    locked = vendor | {wheel.name: wheel.version for wheel in lock.wheels}
    return [f"{name}=={locked[name]}" for name in _PINNED if name in locked]


def constraints(target: Target, lock: Lock) -> str:
    """The text of constraints.txt."""
    lines = [
        "# These versions fit this image's CANN and each other. pip and uv read this file through",
        "# PIP_CONSTRAINT and UV_CONSTRAINT; unset them to move one of these on purpose.",
        *pins(target, lock),
    ]
    return "\n".join(lines) + "\n"
