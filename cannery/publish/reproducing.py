# SPDX-License-Identifier: Apache-2.0
"""Builds an image again from nothing, and compares its layers with those of the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cannery.build import git
from cannery.build.affected import MATRIX, inputs_at, is_read
from cannery.build.clean_build import BuildAnew, remove_unnamed
from cannery.build.planning import make_plan
from cannery.build.selection import Selection, index_of
from cannery.build.vendor_images import with_images
from cannery.common import console
from cannery.common.errors import (
    EngineError,
    MatrixError,
    OutOfSyncError,
    Problem,
    UsageError,
    raise_all,
)
from cannery.common.model import Target
from cannery.engine import client as engine
from cannery.engine.simulator import Simulated, simulate
from cannery.fetch.fetching import provide
from cannery.fetch.needed_files import needed_files
from cannery.image.build_context import read_context
from cannery.image.content_key import LABEL
from cannery.image.simulator_spec import INPUTS
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix
from cannery.options import BuildOptions, TransferOptions
from cannery.publish.image_contents import layer_names
from cannery.publish.layer_files import file_changes
from cannery.publish.originals import Layers, Original, local_files
from cannery.publish.reproduction_report import BuiltLayer, Reproduction, compared_layers
from cannery.verify.recording import state_inputs

_SIMULATOR = [f"packages/ascend-sim/{name}" for name in INPUTS]

_OTHER_INPUTS = (
    "The content keys differ, although the commit is the same: a base image or a vendor file is "
    "another one, or the original was built from files that were not committed."
)


def reproduce(
    project: Project, original: Original, options: BuildOptions, transfer: TransferOptions
) -> Reproduction:
    """Build ``original`` again and compare the layers. Its image is removed afterwards.

    Raises:
        OutOfSyncError: the checkout has other files than the commit of ``original``.
        UsageError: the commit or the target does not exist here.
        CanneryError: it cannot be built; see docs/exit-codes.md.
    """
    target = _target(project, original)
    _require_inputs(project, original, target)
    layers = original.layers()
    image = _built(project, original, target, options, transfer)
    try:
        return _compared(project, original, layers, target, image)
    finally:
        remove_unnamed(image)


def _target(project: Project, original: Original) -> Target:
    targets = project.matrix().targets
    if original.target not in targets:
        what = f"matrix.yaml does not have {original.target}, the target of {original.name}."
        raise UsageError(Problem(what=what, fix=_elsewhere(project, original)))
    target = targets[original.target]
    if target.platform != original.platform:
        what = f"{original.name} is for {original.platform}, and {target.id} for {target.platform}."
        raise UsageError(Problem(what=what, fix=_elsewhere(project, original)))
    return target


def _elsewhere(project: Project, original: Original) -> str:
    """How to build ``original`` in a checkout of its commit."""
    if not original.commit:
        return "Run this in the checkout that it was built in."
    folder = f"{project.root}-{original.commit[:12]}"
    name = original.name
    if name.endswith(".json"):
        name = str(Path(name).absolute())
    return (
        f"Run this in a checkout of its commit:\n"
        f"    git -C {project.root} worktree add {folder} {original.commit}\n"
        f"    python {folder}/build.py reproduce {name}"
    )


def _require_inputs(project: Project, original: Original, target: Target) -> None:
    """Raise OutOfSyncError if the checkout has other inputs than the commit of ``original``."""
    if not original.commit:
        console.say(f"{original.name} does not name a commit: the files of the checkout are used")
        return
    resolved = git.resolve(project.root, original.commit)
    if not resolved:
        what = f"this clone does not have {original.commit}, the commit of {original.name}."
        raise UsageError(Problem(what=what, fix="Fetch it: git fetch --all --tags"))
    if differing := _differing(project, resolved, target, simulated=original.simulated):
        what = (
            f"the checkout differs from {original.commit[:12]}, the commit of {original.name}, in "
            f"{', '.join(differing)}."
        )
        raise OutOfSyncError(Problem(what=what, fix=_elsewhere(project, original)))


def _differing(project: Project, commit: str, target: Target, *, simulated: bool) -> list[str]:
    """The inputs of ``target`` in the checkout that differ from those at ``commit``."""
    earlier = git.read_commit(project.root, commit, is_read)
    try:
        before = parse_matrix(earlier.texts.get(MATRIX, ""), MATRIX).targets.get(target.id)
    except MatrixError:
        return [MATRIX]
    if before is None:
        return [f"{MATRIX}, which does not have {target.id} there"]
    then = inputs_at(before, earlier, "")
    now = state_inputs(project, read_context(project), target, "")
    sources = git.changed_since(project.root, commit, _SIMULATOR) if simulated else []
    return [*now.names_that_differ(then), *sources]


def _built(
    project: Project,
    original: Original,
    target: Target,
    options: BuildOptions,
    transfer: TransferOptions,
) -> str:
    """The id of the image that was built."""
    options = replace(options, simulate=original.simulated)
    if original.vendor_image and not options.sources:
        options = replace(options, sources=("image",))
    selection = Selection(matrix=project.matrix(), targets=(target,), named=frozenset({target.id}))
    selection, failures = with_images(selection, options, project.settings())
    raise_all(failures, single=True)
    provided = provide(project, selection.targets, options, transfer)
    options = replace(options, artifacts=provided.folder)
    planned = make_plan(project, replace(selection, provided=provided), options)
    raise_all(planned.failures, single=True)
    images: dict[str, str] = {}
    build = BuildAnew(
        project=project,
        matrix=selection.matrix,
        planned=planned,
        made=_simulated(project, target, options),
        built=images.__setitem__,
        done="built again",
    )
    raise_all(build.run(options), single=True)
    return images[target.id]


def _simulated(project: Project, target: Target, options: BuildOptions) -> Mapping[str, Simulated]:
    if not options.simulate:
        return {}
    needed = needed_files(target, simulate=True, with_cann=options.with_cann)
    made = simulate(project, target, index_of(options), options.artifacts, needed)
    return {target.id: made}


def _compared(
    project: Project, original: Original, layers: Layers, target: Target, image: str
) -> Reproduction:
    details = engine.image_details(image)
    digests = details["RootFS"].get("Layers") or []
    key = str(((details.get("Config") or {}).get("Labels") or {}).get(LABEL, ""))
    names = layer_names(project, target, len(digests))
    found = compared_layers(layers.digests, digests, names)
    notes = [*layers.notes, *([_OTHER_INPUTS] if key != original.key else [])]
    try:
        found = _with_files(layers, image, found)
    except EngineError as error:
        notes.append(f"The files of the original cannot be read: {error}")
    return Reproduction(
        image=original.name,
        target=target.id,
        commit=original.commit,
        original_key=original.key,
        rebuilt_key=key,
        layers=found,
        notes=notes,
    )


def _with_files(
    original: Layers, image: str, layers: tuple[BuiltLayer, ...]
) -> tuple[BuiltLayer, ...]:
    """``layers`` with the files that differ in those that both images have."""
    pairs = [layer for layer in layers if not layer.equal and layer.original and layer.rebuilt]
    if not pairs:
        return layers
    before = original.files({layer.original for layer in pairs})
    digests = [layer.rebuilt for layer in layers if layer.rebuilt]
    after = local_files(image, digests, {layer.rebuilt for layer in pairs})
    return tuple(
        replace(layer, files=file_changes(before[layer.original], after[layer.rebuilt]))
        if layer in pairs and layer.original in before
        else layer
        for layer in layers
    )
