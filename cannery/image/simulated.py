# SPDX-License-Identifier: Apache-2.0
"""How to recognise a simulated image, from outside and from inside."""

from __future__ import annotations

from collections.abc import Mapping

from cannery.common.model import Target
from cannery.deploy.run_spec import DRIVER
from cannery.image.environment import python_paths

LABEL = "io.cannery.simulated"
"""The label that is ``true`` for simulated images, and ``false`` for others built by build.py."""

ARGUMENT = "SIMULATED"
"""The build argument without which no Dockerfile takes stand-ins, and with which it needs them."""

ENVIRONMENT = {"CANNERY_SIMULATED": "1"}
"""What the environment of a simulated image has."""

MARKERS = "/usr/local/Ascend/simulated"
"""The folder of an image in which each simulated package that was installed has a file."""

_NAMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ATB_HOME_PATH")
_PARTS = ("lib64", "atb/cxx_abi_0/lib", "atb/cxx_abi_1/lib")

MARKER_FILE = "SIMULATED"
"""The name of the file at the root of every tree of a stand-in."""

MARK = b"npusim"
"""What the stand-ins' compiled libraries contain, and a copy of them keeps."""

MARKED = ("libascendcl.so", "libatb.so", "libascend_hal.so")
"""The libraries that are read for ``MARK``: without one of them no NPU is used."""

HOMES = ("ascend-toolkit/latest", "cann", "latest", "nnae/latest", "nnal/atb/latest")
"""Where CANN and NNAL are, below their install path."""

DRIVER_MARKER = f"{DRIVER}/{MARKER_FILE}"
"""The file that a simulated driver has, and no other."""


def marker_paths(target: Target, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The paths of which one is in any image of ``target`` that holds whole stand-ins."""
    site_packages = python_paths(target).site_packages
    folders = [*homes(environment), f"{site_packages}/apex", DRIVER]
    return MARKERS, *(f"{folder}/{MARKER_FILE}" for folder in folders)


def homes(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The folders of CANN and NNAL, wherever an image has them."""
    named = [value for name, value in environment.items() if name in _NAMES]
    ascend = MARKERS.rpartition("/")[0]
    every = [*named, *(f"{ascend}/{home}" for home in HOMES)]
    return tuple(dict.fromkeys(each.rstrip("/") for each in every if each.startswith("/")))


def marked_paths(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The paths at which the loader of an image finds the libraries ``MARKED``."""
    folders = environment.get("LD_LIBRARY_PATH", "").split(":")
    folders += [f"{home}/{part}" for home in homes(environment) for part in _PARTS]
    paths = dict.fromkeys(each.rstrip("/") for each in folders if each.startswith("/"))
    return tuple(f"{folder}/{name}" for folder in paths for name in MARKED)


def simulated_labels(target: Target) -> dict[str, str]:
    """The labels of a simulated image that differ from those of the real one."""
    return {
        "org.opencontainers.image.title": f"{target.id}-sim",
        "org.opencontainers.image.description": (
            f"SIMULATED, for tests; results say nothing about an NPU: {target.summary}"
        ),
        LABEL: "true",
    }
