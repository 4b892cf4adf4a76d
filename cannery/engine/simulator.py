# SPDX-License-Identifier: Apache-2.0
"""Builds the simulated packages and the simulated driver tree of a target, with BuildKit."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cannery.common import console
from cannery.common.bases import File
from cannery.common.errors import file_error
from cannery.common.files import link_or_copy, temporary_folder
from cannery.common.model import Target
from cannery.common.package_index import PackageIndex
from cannery.engine.bake import BakeSettings, write_stage
from cannery.engine.base import BaseCache, Bases, building_architecture, contexts
from cannery.engine.builder import find_builder
from cannery.fetch.artifacts import check_artifacts
from cannery.image.bake_file import Caches, ImageBuild
from cannery.image.simulator_spec import SOURCES, package_spec, recipe
from cannery.matrix.project import Project


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """``artifacts`` has the packages, ``host`` the driver tree that containers mount."""

    artifacts: Path
    host: Path


def simulated(project: Project, target: Target) -> Simulated:
    """The folders of the simulated files of ``target``, which need not exist yet.

    Their path depends on the recipe.
    """
    folder = project.state / "simulator" / f"{target.id}-{recipe(target)[:12]}"
    return Simulated(artifacts=folder / "artifacts", host=folder / "host")


def simulate(
    project: Project,
    target: Target,
    source: PackageIndex,
    real: Path,
    needed: Mapping[str, File] | None = None,
) -> Simulated:
    """Make the simulated files of ``target`` unless they exist.

    The files ``needed``, by component, are taken from ``real``; without it these are all files
    without a stand-in. If others are among them, they are put into a folder of their own, so that
    the next run finds the stand-ins.
    """
    needed = needed or target.real_artifacts
    check_artifacts(target, real, needed, simulated=True)
    made = make_simulated(project, target, source)
    folder = made.artifacts.parent
    try:
        if needed.keys() - target.real_artifacts.keys():
            mixed = replace(made, artifacts=folder / "with-cann")
            mixed.artifacts.mkdir(exist_ok=True)
            for path in made.artifacts.iterdir():
                link_or_copy(path, mixed.artifacts / path.name)
            made = mixed
        for file in needed.values():
            link_or_copy(real / file.name, made.artifacts / file.name)
    except OSError as error:
        raise file_error("write", made.artifacts, error) from error
    return made


def make_simulated(project: Project, target: Target, source: PackageIndex) -> Simulated:
    """Make the simulated driver tree of ``target``, and its packages, unless they exist.

    The files that have no stand-in are not needed for it, and are not put there.
    """
    made = simulated(project, target)
    folder = made.host.parent
    if not folder.exists():
        log = project.state / "logs" / "simulator.log"
        step = "compiling the software device and making its packages, a minute or two"
        console.say(f"{target.id}: {step} ({log})")
        try:
            build_packages(project, target, package_spec(target), source, folder)
        except OSError as error:
            raise file_error("write", folder, error) from error
    return made


def build_packages(
    project: Project, target: Target, spec: Mapping[str, Any], source: PackageIndex, folder: Path
) -> None:
    """Write the packages that the packer makes of ``spec`` into the new folder ``folder``.

    Raises:
        OSError: the files cannot be written.
    """
    with temporary_folder(folder.parent) as temporary:
        place = temporary / "spec"
        place.mkdir()
        (place / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        output = temporary / "output"
        architecture, builder = building_architecture(), find_builder("")
        bases = Bases(builder=builder, notes=BaseCache(state=project.state), ca=source.ca)
        base = bases.find(target.build_base, architecture)
        layouts = contexts([base], builder, project.state / "bases")
        build = ImageBuild(
            id="simulator",
            tag="",
            dockerfile=SOURCES / "Dockerfile",
            folder=SOURCES,
            platform=f"linux/{architecture}",
            contexts={"spec": str(place), **layouts},
            arguments={"BUILD_IMAGE": base.reference, "ARCH": target.machine},
        )
        logs = project.state / "logs"
        settings = BakeSettings(builder=builder, source=source, caches=Caches(), logs=logs)
        write_stage(build, "", output, settings)
        try:
            os.replace(output, folder)
        except OSError:
            # Another run may have made the same files meanwhile.
            if not folder.is_dir():
                raise
