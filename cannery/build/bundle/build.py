# SPDX-License-Identifier: Apache-2.0
"""Builds from a bundle: everything comes out of one file, and nothing from a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cannery.build.bundle.archive import Contents, unpack
from cannery.build.bundle.gateway import Gateway, Recorded, serving
from cannery.build.bundle.load import load
from cannery.build.bundle.pack import (
    ARTIFACTS,
    DEBIAN,
    IMAGES,
    SIMULATOR,
    WHEELS,
    copy_tree,
    with_addresses,
)
from cannery.build.journal import Journal
from cannery.build.planning import make_plan
from cannery.build.ready import bases
from cannery.build.run_builds import build_all
from cannery.build.selection import Selection
from cannery.common import console
from cannery.common.errors import (
    CanneryError,
    OutOfSyncError,
    Problem,
    UsageError,
    some_of,
)
from cannery.engine.client import bridge_address
from cannery.engine.images import local_images
from cannery.engine.simulator import simulated
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from cannery.verify.recording import state_keys


def build_from_bundle(
    project: Project, selection: Selection, options: BuildOptions, bundle: Path, journal: Journal
) -> None:
    """Build and check the targets of ``selection`` that ``bundle`` has.

    Raises:
        UsageError: the bundle does not have a target that was named, or has the vendor's files
            where simulated ones were asked for.
        OutOfSyncError: the bundle was made from other files than those of this checkout.
        CanneryError: as ``unpack`` and ``build_all``; what the build asked of the network is in it.
    """
    console.say(f"checking {bundle}")
    folder, contents = unpack(bundle, project.state / "bundles")
    selection = _within(selection, contents, bundle)
    if options.simulate and not contents.simulate:
        what = f"{bundle} has the vendor's files and no simulated ones."
        raise UsageError(Problem(what=what, fix="Leave out --simulate."))
    _require_same(project, selection, contents, bundle)
    _load(folder, contents, selection)
    _restore_simulator(project, folder, selection)
    gateway = Gateway(bridge_address(), folder / WHEELS, Recorded.read(folder / DEBIAN))
    with serving(gateway):
        options = replace(
            options,
            artifacts=folder / ARTIFACTS,
            simulate=contents.simulate,
            gateway=gateway.address,
        )
        try:
            planned = make_plan(project, selection, options)
            build_all(project, selection, options, planned, journal)
        except CanneryError as error:
            if gateway.asked:
                raise with_addresses({"": error}, gateway.asked) from error
            raise


def _within(selection: Selection, contents: Contents, bundle: Path) -> Selection:
    """The targets of ``selection`` that the bundle has."""
    if absent := [name for name in sorted(selection.named) if name not in contents.targets]:
        what = f"{bundle} does not have {some_of(absent, 5)}."
        raise UsageError(Problem(what=what, fix=f"It has {some_of([*contents.targets], 20)}."))
    targets = tuple(each for each in selection.targets if each.id in contents.targets)
    if not targets:
        what = f"{bundle} has no target that is selected."
        raise UsageError(Problem(what=what, fix=f"It has {some_of([*contents.targets], 20)}."))
    return replace(selection, targets=targets, named=frozenset(each.id for each in targets))


def _require_same(project: Project, selection: Selection, contents: Contents, bundle: Path) -> None:
    """Raise OutOfSyncError if the checkout builds other images than the bundle is for."""
    key_of = state_keys(project)
    other = [
        each.id
        for each in selection.targets
        if key_of(each, contents.simulate) != contents.targets[each.id]
    ]
    if other:
        commit = f" Its checkout was at commit {contents.commit}." if contents.commit else ""
        what = f"{bundle} was made from other files than this checkout has for {some_of(other, 5)}."
        raise OutOfSyncError(
            Problem(what=what + commit, fix="Use that checkout, or make the bundle with this one.")
        )


def _load(folder: Path, contents: Contents, selection: Selection) -> None:
    """Give the engine the base images of the targets that it does not have, under no other names.

    Raises:
        ArtifactError: the bundle has another image than it says.
        EngineError: the engine cannot load one.
    """
    used = {base.bootstrap_tag(a) for t in selection.targets for base, a in bases(t).values()}
    images = {name: image for name, image in contents.images.items() if name in used}
    local = local_images(images)
    for name, image in images.items():
        if name not in local or local[name].id != image:
            console.say(f"loading {name}")
            load(folder / IMAGES / f"{image.removeprefix('sha256:')}.tar", image, name)


def _restore_simulator(project: Project, folder: Path, selection: Selection) -> None:
    """Put the simulated packages of the targets where a build looks for them."""
    for target in selection.targets:
        place = simulated(project, target).artifacts.parent
        tree = folder / SIMULATOR / place.name
        if tree.is_dir() and not place.is_dir():
            copy_tree(tree, place)
