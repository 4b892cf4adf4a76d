# SPDX-License-Identifier: Apache-2.0
"""The simulated packages of a target: what they are, and a hash of all that they are made from."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Problem, UsageError
from cannery.common.model import SIMULATED_CHIPS, Target
from cannery.image.cann_environment import atb_variables
from cannery.image.cann_symbols import lacking

SOURCES = Path(__file__).parents[1] / "simulator"

DRIVER_VERSION = "24.1.rc3"
DEVICES = 8
"""The number of cards of a simulated host."""

HBM_MB = 65536
"""The memory of a card in MiB."""

_OF_THE_WHEEL = {"command", "wheel"}
"""What is in SOURCES for the wheel alone."""


def package_spec(target: Target) -> dict[str, Any]:
    """The packer's specification for ``target``; see simulator/packages/pack.py.

    Raises:
        UsageError: there is no software device of this chip.
    """
    if target.chip not in SIMULATED_CHIPS:
        known = " and ".join(SIMULATED_CHIPS)
        what = f"{target.id} has chip {target.chip}, but the software device supports only {known}."
        raise UsageError(Problem(what=what, fix="Build it from the vendor's files."))
    files = target.artifacts
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
        "lacks": lacking(_public(target)),
        "packages": packages,
        "apex": {"file": files["apex"].name} if "apex" in files else None,
        "driver": {
            "version": DRIVER_VERSION,
            "chip_name": SIMULATED_CHIPS[target.chip],
            "devices": DEVICES,
            "hbm_mb": HBM_MB,
        },
    }


def _public(target: Target) -> CannVersion:
    """The release whose symbols the target's CANN has: of an interim build, the one it is near."""
    cann = target.cann
    return CannVersion.parse(cann.nearest_public if cann.interim else cann.version)


def recipe(target: Target) -> str:
    """A hash of all inputs of the simulated files of ``target``."""
    spec = json.dumps(package_spec(target), sort_keys=True).encode()
    return hashlib.sha256(spec + _sources()).hexdigest()


@cache
def _sources() -> bytes:
    """A hash of the sources of the simulated packages."""
    paths = [path for path in sorted(SOURCES.rglob("*")) if path.is_file()]
    names = [name for path in paths if is_source(name := path.relative_to(SOURCES))]
    digest = hashlib.sha256()
    for name in names:
        digest.update(str(name).encode() + b"\0" + (SOURCES / name).read_bytes())
    return digest.digest()


def is_source(name: Path) -> bool:
    """Whether the simulated packages are made from the file ``name`` of SOURCES."""
    ignored = name.suffix == ".md" or "__pycache__" in name.parts
    return not ignored and name.parts[0] not in _OF_THE_WHEEL
