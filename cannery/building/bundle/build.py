# SPDX-License-Identifier: Apache-2.0
"""Builds from a bundle: every step that needs a network is taken out of its cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cannery.building.bundle.archive import Contents, invalid, unpack
from cannery.building.bundle.pack import ARTIFACTS, CACHE, SIMULATOR, copy_tree
from cannery.building.planning import Selection, make_plan
from cannery.building.running import build_all
from cannery.common.errors import (
    BuildError,
    OutOfSyncError,
    Problem,
    UsageError,
    file_error,
    some_of,
)
from cannery.common.files import temporary_folder
from cannery.common.model import Target
from cannery.common.references import image_tag
from cannery.engine.builder import find_builder, require_containerd
from cannery.engine.simulator import simulated
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.results import state_keys


def build_from_bundle(
    project: Project, selection: Selection, options: BuildOptions, bundle: Path
) -> None:
    """Build and check the targets of ``selection`` that ``bundle`` has."""
    folder, contents = unpack(bundle, project.state / "bundles")
    selection = _within(selection, contents, bundle)
    if options.simulate and not contents.simulate:
        what = f"{bundle} has Huawei's packages and no simulated ones."
        raise UsageError(Problem(what=what, fix="Leave out --simulate."))
    _require_same(project, selection, contents, bundle)
    require_containerd(find_builder(""), "build from a bundle")
    restore_simulator(project, folder, selection.targets, bundle)
    tags = [image_tag(name, simulate=contents.simulate) for name in contents.targets]
    options = replace(
        options,
        artifacts=folder / ARTIFACTS,
        simulate=contents.simulate,
        bundle=folder,
        cache_from=tuple(f"type=local,src={folder / CACHE / tag}" for tag in tags),
    )
    planned = make_plan(project, selection, options)
    try:
        build_all(project, selection, options, planned)
    except BuildError as error:
        what = (
            "a step that the bundle's cache does not have cannot download anything here. "
            f"The cache is of engine {contents.engine}."
        )
        fix = "Use an engine of that version, or make the bundle with one as this machine's."
        raise BuildError([*error.problems, Problem(what=what, fix=fix)]) from error


def _within(selection: Selection, contents: Contents, bundle: Path) -> Selection:
    """The targets of ``selection`` that the bundle has."""
    if absent := [name for name in sorted(selection.named) if name not in contents.targets]:
        what = f"{bundle} does not have {some_of(absent, 5)}."
        raise UsageError(Problem(what=what, fix=f"It has {some_of([*contents.targets], 20)}."))
    targets = tuple(target for target in selection.targets if target.id in contents.targets)
    if not targets:
        what = f"{bundle} has no target that is selected."
        raise UsageError(Problem(what=what, fix=f"It has {some_of([*contents.targets], 20)}."))
    return replace(selection, targets=targets, named=frozenset(target.id for target in targets))


def _require_same(project: Project, selection: Selection, contents: Contents, bundle: Path) -> None:
    """Raise OutOfSyncError if the checkout builds other images than the bundle is for."""
    key_of = state_keys(project)
    other = [
        target.id
        for target in selection.targets
        if key_of(target, contents.simulate) != contents.targets[target.id]
    ]
    if other:
        commit = f" Its checkout was at commit {contents.commit}." if contents.commit else ""
        what = f"{bundle} was made from other files than this checkout has for {some_of(other, 5)}."
        raise OutOfSyncError(
            Problem(what=what + commit, fix="Use that checkout, or make the bundle with this one.")
        )


def restore_simulator(
    project: Project, folder: Path, targets: Iterable[Target], bundle: Path
) -> None:
    """Put the simulated packages of ``targets`` where a build looks for them."""
    for target in targets:
        place = simulated(project, target).artifacts.parent
        tree = folder / SIMULATOR / place.name
        if not tree.is_dir() or place.is_dir():
            continue
        for path in tree.rglob("*"):
            # Unpacked, such a link was inside of the bundle; copied, it leads elsewhere.
            if not path.resolve().is_relative_to(tree.resolve()):
                raise invalid(bundle, f"{path.relative_to(folder)} leads out of its folder")
        try:
            with temporary_folder(place.parent) as temporary:
                copy_tree(tree, temporary / "tree")
                os.replace(temporary / "tree", place)
        except OSError as error:
            raise file_error("write", place, error) from error
