# SPDX-License-Identifier: Apache-2.0
"""``build.py bundle``: pack everything that a build needs into one file."""

from __future__ import annotations

from dataclasses import replace

from cannery.build.bundle.pack import make_bundle
from cannery.build.selection import Selection
from cannery.cli.common import existing, read, selected
from cannery.common import console
from cannery.fetch.fetching import provide
from cannery.matrix.project import Project
from cannery.options.build import BuildOptions
from cannery.options.bundle import BundleOptions
from cannery.options.fetch import TransferOptions
from cannery.options.given import Given
from cannery.options.shared import RequiredTargetOptions


def run(given: Given, project: Project) -> int:
    """Build the selected targets once, and pack what that needed.

    Raises:
        CanneryError: a target cannot be built, or the bundle cannot be written.
    """
    options = read(BundleOptions, given, project)
    targets = selected(read(RequiredTargetOptions, given, project), project)
    selection = Selection(
        matrix=project.matrix(),
        targets=tuple(targets),
        named=frozenset(target.id for target in targets),
    )
    building = BuildOptions(
        simulate=options.simulate,
        artifacts=options.artifacts,
        ca=existing(options.ca),
        index_url=options.index_url,
    )
    provided = provide(project, targets, building, read(TransferOptions, given, project))
    building = replace(building, artifacts=provided.folder)
    size = make_bundle(project, replace(selection, provided=provided), building, options.out)
    console.say(f"wrote {options.out} ({size / 1e6:.0f} MB)", "ok")
    return 0
