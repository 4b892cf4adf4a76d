# SPDX-License-Identifier: Apache-2.0
"""The simulated packages of a target: specification, sources, and marks in images."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Problem, UsageError
from cannery.common.model import SIMULATED_CHIPS, Target
from cannery.common.tool import tool_path
from cannery.deploy.run_spec import DRIVER
from cannery.image.environment import atb_variables, python_paths

SOURCES = tool_path("packages/ascend-sim")
"""The product beside this one, and build context of the simulated packages."""

SYMBOLS = SOURCES / "ascend_sim" / "cann_symbols.json"
"""Release to the symbols, as ``LIBRARY SYMBOL``, of which no source says that an older one has
them."""


def missing_symbols(cann: CannVersion) -> list[str]:
    """What a simulated CANN of this release does not offer, sorted."""
    return sorted(line for first in later(cann) for line in firsts()[first])


def later(cann: CannVersion) -> list[str]:
    """The releases of SYMBOLS that are newer than ``cann``."""
    return [first for first in firsts() if CannVersion.parse(first) > cann]


@cache
def firsts() -> dict[str, list[str]]:
    """What is in SYMBOLS."""
    symbols: dict[str, list[str]] = json.loads(SYMBOLS.read_text(encoding="utf-8"))
    return symbols


DRIVER_VERSION = "24.1.rc3"
DEVICES = 8
"""The number of cards of a simulated host."""

INPUTS = ("Dockerfile", "Dockerfile.dockerignore", "device", "ascend_sim/packages")
"""What SOURCES has for them; the rest is the command's, or measures and tests the device."""

CHIPS = Path("ascend_sim/packages/chips")
"""The folder of the facts of each chip, as in 310p.json: no other chip's packages have them."""


def package_spec(target: Target) -> dict[str, Any]:
    """The packer's specification for ``target``; see ascend_sim/packages/README.md there.

    Raises:
        UsageError: there is no software device of this chip, or this cannery has none.
    """
    if not SOURCES.is_dir():
        what = f"there is no folder {SOURCES}, from which simulated packages are made."
        raise UsageError(
            Problem(what=what, fix="Install cannery again, or use a whole checkout of it.")
        )
    if target.chip not in SIMULATED_CHIPS:
        known = ", ".join(SIMULATED_CHIPS)
        what = f"{target.id} has chip {target.chip}, but the software device supports only {known}."
        raise UsageError(Problem(what=what, fix="Build it from Huawei's packages."))
    files, cann = target.artifacts, target.cann
    # The symbols of an interim build are those of the release that it is near.
    public = cann.nearest_public if cann.interim else cann.version
    releases = {"toolkit": target.cann, "kernels": target.kernels, "nnal": target.nnal}
    packages: list[dict[str, Any]] = [
        {"component": component, "file": files[component].name, "version": release.version}
        for component, release in releases.items()
        if component in files
    ]
    for package in packages:
        if package["component"] == "kernels":
            package["chip"] = target.chip
        if package["component"] == "nnal":
            package["variables"] = atb_variables(package["version"])
    return {
        "arch": target.machine,
        "cann": target.cann.version,
        "layout": str(target.cann.layout),
        "lacks": missing_symbols(CannVersion.parse(public)),
        "packages": packages,
        "apex": {"file": files["apex"].name} if "apex" in files else None,
        "driver": {
            "version": DRIVER_VERSION,
            "chip": target.chip,
            "devices": DEVICES,
        },
    }


def recipe(target: Target) -> str:
    """A hash of all inputs of the simulated files of ``target``."""
    spec = json.dumps(package_spec(target), sort_keys=True).encode()
    return hashlib.sha256(spec + _sources(target.chip)).hexdigest()


@cache
def _sources(chip: str) -> bytes:
    """A hash of the sources of the simulated packages for ``chip``."""
    tops = [SOURCES / name for name in INPUTS]
    paths = sorted(path for top in tops for path in (top, *top.rglob("*")) if path.is_file())
    digest = hashlib.sha256()
    for path in paths:
        name = path.relative_to(SOURCES)
        if is_source(name) and (name.parent != CHIPS or name.stem == chip):
            digest.update(str(name).encode() + b"\0" + path.read_bytes())
    return digest.digest()


def is_source(name: Path) -> bool:
    """Whether the simulated packages are made from the file ``name`` of SOURCES."""
    ignored = name.suffix == ".md" or "__pycache__" in name.parts
    return not ignored and any(name.is_relative_to(top) for top in INPUTS)


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
    return tuple(dict.fromkeys(home.rstrip("/") for home in every if home.startswith("/")))


def marked_paths(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The paths at which the loader of an image finds the libraries ``MARKED``."""
    folders = environment.get("LD_LIBRARY_PATH", "").split(":")
    folders += [f"{home}/{part}" for home in homes(environment) for part in _PARTS]
    paths = dict.fromkeys(path.rstrip("/") for path in folders if path.startswith("/"))
    return tuple(f"{folder}/{name}" for folder in paths for name in MARKED)
