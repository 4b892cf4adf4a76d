# SPDX-License-Identifier: Apache-2.0
"""Makes the simulated packages and host driver tree of a target, inside BuildKit."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cannery import console
from cannery.errors import Problem, UsageError, file_error
from cannery.execute.engine.base import building_architecture, ensure_base
from cannery.execute.engine.buildx import Build, PackageIndex, execute
from cannery.execute.owner import is_gone, own_mark
from cannery.image.artifacts import check_artifacts
from cannery.matrix.project import Project
from cannery.model import Target

SOURCES = Path(__file__).parents[2] / "simulator"

_CHIP_NAMES = {"910b": "910B3", "a3": "910_9392"}
"""The chip family of a kernels package to the name of one chip of it."""

_MAKING = ".making-"
"""How the folders are called in which files are being made."""

_DRIVER_VERSION = "24.1.rc3"
DEVICES = 8
"""How many cards a simulated host has."""

_HBM_MB = 65536


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """``artifacts`` holds the packages, ``host`` the driver tree that a container mounts."""

    artifacts: Path
    host: Path


def package_spec(target: Target) -> dict[str, Any]:
    """What the packer is to make for ``target``; see simulator/packages/pack.py.

    Raises:
        UsageError: there is no software device of this chip or of this mixture of versions.
    """
    if target.chip not in _CHIP_NAMES:
        known = " and ".join(_CHIP_NAMES)
        what = f"{target.id} is for chip {target.chip}, and the software device is {known} only."
        raise UsageError(Problem(what=what, fix="Build it from the vendor's files."))
    versions = {target.cann.version, target.kernels.version, target.nnal.version}
    if len(versions) > 1:
        mixed = ", ".join(sorted(versions))
        what = f"{target.id} has packages of CANN {mixed}, and a simulated CANN has one version."
        raise UsageError(Problem(what=what, fix="Build it from the vendor's files."))
    files = target.artifacts
    packages = [
        {"component": component, "file": files[component].name}
        for component in ("toolkit", "kernels", "nnal")
        if component in files
    ]
    for package in packages:
        if package["component"] == "kernels":
            package["chip"] = target.chip
    return {
        "arch": target.machine,
        "cann": target.cann.version,
        "layout": str(target.cann.layout),
        "packages": packages,
        "apex": {"file": files["apex"].name} if "apex" in files else None,
        "driver": {
            "version": _DRIVER_VERSION,
            "chip_name": _CHIP_NAMES[target.chip],
            "devices": DEVICES,
            "hbm_mb": _HBM_MB,
        },
    }


def simulated(project: Project, target: Target) -> Simulated:
    """Where the simulated files of ``target`` are, or would be: a place for each content."""
    folder = project.state / "simulator" / f"{target.id}-{recipe(target)[:12]}"
    return Simulated(artifacts=folder / "artifacts", host=folder / "host")


def recipe(target: Target) -> str:
    """A hash of all that the simulated files of ``target`` are made from."""
    spec = json.dumps(package_spec(target), sort_keys=True).encode()
    return hashlib.sha256(spec + _sources()).hexdigest()


@cache
def _sources() -> bytes:
    found = [p for p in sorted(SOURCES.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    return b"".join(str(p.relative_to(SOURCES)).encode() + b"\0" + p.read_bytes() for p in found)


def simulate(project: Project, target: Target, source: PackageIndex, real: Path) -> Simulated:
    """Make the simulated files of ``target`` unless they are there.

    What the simulator has no stand-in for is taken from ``real``.

    Raises:
        EngineError, BuildError: as ``execute``.
        ArtifactError: ``real`` does not have it.
        FileError: the files cannot be written.
    """
    check_artifacts(target, real, target.real_artifacts, simulated=True)
    made = simulated(project, target)
    folder = made.artifacts.parent
    if not folder.exists():
        console.say(f"{target.id}: compiling the software device and packing it")
        try:
            _make(project, target, source, folder)
        except OSError as error:
            raise file_error("write", folder, error) from error
    try:
        for file in target.real_artifacts.values():
            _link(real / file.name, made.artifacts / file.name)
    except OSError as error:
        raise file_error("write", made.artifacts, error) from error
    return made


def _make(project: Project, target: Target, source: PackageIndex, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    _clear(folder.parent)
    prefix = f"{_MAKING}{own_mark()}:"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent) as temporary:
        spec = Path(temporary) / "spec"
        spec.mkdir()
        (spec / "spec.json").write_text(json.dumps(package_spec(target)), encoding="utf-8")
        output = Path(temporary) / "output"
        architecture = building_architecture()
        build = Build(
            name="the simulator",
            dockerfile=SOURCES / "Dockerfile",
            folder=SOURCES,
            platform=f"linux/{architecture}",
            contexts={"spec": spec},
            arguments={
                "BUILD_IMAGE": ensure_base(target.build_base, architecture),
                "ARCH": target.machine,
            },
            output=output,
        )
        execute(build, source, project.state / "logs" / "simulator.log")
        try:
            os.replace(output, folder)
        except OSError:
            # Another run may have made the same meanwhile.
            if not folder.is_dir():
                raise


def _clear(folder: Path) -> None:
    """Remove what runs that were killed have left half made."""
    for path in folder.glob(f"{_MAKING}*"):
        if is_gone(path.name.removeprefix(_MAKING).rpartition(":")[0]):
            shutil.rmtree(path, ignore_errors=True)


def _link(source: Path, destination: Path) -> None:
    """Let ``destination`` be ``source``, and at no moment half of it."""
    temporary = destination.with_name(f".{destination.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        try:
            os.link(source, temporary)
        except OSError:  # on another disk
            shutil.copy2(source, temporary)
        os.replace(temporary, destination)
    finally:
        temporary.unlink(missing_ok=True)
