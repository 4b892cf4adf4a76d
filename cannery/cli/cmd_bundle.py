# SPDX-License-Identifier: Apache-2.0
"""``build.py bundle``: pack everything that a build needs into one file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from cannery.building.bundle import make_bundle
from cannery.building.planning import Selection
from cannery.cli import results
from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console
from cannery.common.errors import ArtifactError
from cannery.common.option import option
from cannery.fetch.fetching import download_missing, missing_needs
from cannery.fetch.needs import Lacks, screen
from cannery.matrix.project import Project
from cannery.options import (
    ARTIFACTS,
    FORMAT,
    SIMULATE,
    BuildOptions,
    IndexOptions,
    RequiredTargetOptions,
    TransferOptions,
)


@dataclass(frozen=True, kw_only=True)
class BundleOptions(TransferOptions, IndexOptions, RequiredTargetOptions):
    """The contents of a bundle."""

    out: Path = option("the bundle; replaced once the new one is complete", metavar="FILE")
    simulate: bool = SIMULATE.field()
    artifacts: Path = ARTIFACTS.field()
    format: str = FORMAT.field()


COMMAND = Command(
    description="Builds and checks the selected targets, and writes what a build of them needs "
    "into one file: base images, BuildKit's cache, Huawei's or the simulated packages, and the "
    "packages of build.py itself. On a machine without a network, 'build.py --from-bundle FILE' "
    "builds the same images from it. See docs/platform-teams.md.",
    reads="matrix.yaml, images/, artifacts/, the package index, Debian's mirrors",
    writes="the file of --out",
    example="bundle --target 'py39-*' --simulate --out npu.bundle",
    options=BundleOptions,
)


def run(options: BundleOptions, project: Project) -> None:
    """Build the selected targets once, and pack the files that this needed."""
    targets = selected(options, project)
    building = BuildOptions(
        simulate=options.simulate,
        artifacts=options.artifacts,
        ca=options.ca,
        index_url=options.index_url,
    )
    files = download_missing(project, targets, building, options)
    if any(isinstance(p, Lacks) for error in files.failures.values() for p in error.problems):
        command = shlex.join(["python", "build.py", "bundle", *(t.id for t in targets)])
        needs = missing_needs(project, targets, building, options)
        raise ArtifactError(screen(needs, options.artifacts, f"{command} --out {options.out}"))
    selection = Selection(matrix=project.matrix(), targets=tuple(targets), failures=files.failures)
    building = replace(building, artifacts=files.folder)
    digest = make_bundle(project, selection, building, options.out)
    size = options.out.stat().st_size
    console.say(f"wrote {options.out} ({size / 1e6:.0f} MB), sha256 {digest}", "ok")
    if options.format == "json":
        results.show({"file": str(options.out), "size": size, "sha256": digest})
