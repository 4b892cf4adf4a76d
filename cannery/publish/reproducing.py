# SPDX-License-Identifier: Apache-2.0
"""Builds an image again from nothing, and compares its layers with those of the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cannery.building import git
from cannery.building.affected import folders_of, inputs_at, is_read
from cannery.building.clean_build import BuildAnew, remove_unnamed
from cannery.building.planning import make_plan
from cannery.building.selection import Selection, index_of
from cannery.building.vendor_images import with_images
from cannery.common import console
from cannery.common.columns import columns
from cannery.common.errors import (
    EngineError,
    MatrixError,
    OutOfSyncError,
    Problem,
    UsageError,
    counted,
    raise_all,
)
from cannery.common.model import Target
from cannery.common.outside import json_text, one_line
from cannery.engine import client as engine
from cannery.engine.simulator import Simulated, simulate
from cannery.fetch.fetching import provide
from cannery.fetch.needs import needed_files
from cannery.image.content_key import LABEL, read_context
from cannery.image.simulator_spec import INPUTS
from cannery.matrix.files import MATRIX
from cannery.matrix.project import Project
from cannery.matrix.schema import parse_matrix
from cannery.options import BuildOptions, TransferOptions
from cannery.publish.image_contents import layer_names
from cannery.publish.originals import FileChange, Layers, Original, file_changes, local_files
from cannery.verify.results import state_inputs

_SIMULATOR = [f"packages/ascend-sim/{name}" for name in INPUTS]

_OTHER_INPUTS = (
    "The content keys differ, although the commit is the same: a base image or a CANN package is "
    "another one, or the original was built from files that were not committed."
)


def reproduce(
    project: Project, original: Original, options: BuildOptions, transfer: TransferOptions
) -> Reproduction:
    """Build ``original`` again and compare the layers. Its image is removed afterwards.

    Raises:
        OutOfSyncError: the checkout has other files than the commit of ``original``.
        UsageError: the commit or the target does not exist here.
        CanneryError: it cannot be built; see docs/reference.md.
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
        text = earlier.texts.get(MATRIX, "")
        before = parse_matrix(text, MATRIX, data=earlier.texts).targets.get(target.id)
    except MatrixError:
        return [MATRIX]
    if before is None:
        return [f"{MATRIX}, which does not have {target.id} there"]
    then = inputs_at(before, folders_of(earlier), "")
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


_SHOWN = 20
"""How many files of a layer the text has; the JSON has all."""


@dataclass(frozen=True, kw_only=True)
class BuiltLayer:
    """A layer with the digests of its uncompressed content; one is empty if it has no such layer.

    ``files`` are those that differ, and None if they are not known.
    """

    name: str
    original: str
    rebuilt: str
    files: Sequence[FileChange] | None = None

    @property
    def equal(self) -> bool:
        return self.original == self.rebuilt


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """An image and the one that was built again. The keys are content keys.

    ``notes`` are sentences about what else was found.
    """

    image: str
    target: str
    commit: str
    original_key: str
    rebuilt_key: str
    layers: Sequence[BuiltLayer]
    notes: Sequence[str] = ()

    @property
    def equal(self) -> bool:
        """Whether all layers are equal."""
        return all(layer.equal for layer in self.layers)


def compared_layers(
    original: Sequence[str], rebuilt: Sequence[str], names: Sequence[str]
) -> tuple[BuiltLayer, ...]:
    """The layers of two images by their places; ``names`` are those of the image built again."""
    found = []
    for number in range(max(len(original), len(rebuilt))):
        name = names[number] if number < len(names) else f"layer {number + 1}"
        old, new = (side[number] if number < len(side) else "" for side in (original, rebuilt))
        found.append(BuiltLayer(name=name, original=old, rebuilt=new))
    return tuple(found)


def reproduction_text(found: Reproduction) -> str:
    """A table of the layers, and the files that differ in each."""
    differing = [layer for layer in found.layers if not layer.equal]
    rows = [("image", found.image), ("target", found.target)]
    rows += [("commit", found.commit)] if found.commit else []
    table = [(layer.name, *_state(layer)) for layer in found.layers]
    lines = [*columns(rows), "", *columns(table)]
    for layer in differing:
        lines += ["", *_files(layer)]
    lines += ["", *found.notes] if found.notes else []
    equal = len(found.layers) - len(differing)
    verdict = f"all {counted(equal, 'layer')} are equal"
    if differing:
        names = ", ".join(layer.name for layer in differing)
        verdict = f"{len(differing)} of {counted(len(found.layers), 'layer')} differ: {names}"
    return "\n".join([*lines, "", verdict])


def _state(layer: BuiltLayer) -> tuple[str, str]:
    if layer.equal:
        return "equal", layer.original
    sides = [each or "no such layer" for each in (layer.original, layer.rebuilt)]
    return "differs", " -> ".join(sides)


def _files(layer: BuiltLayer) -> Iterator[str]:
    if layer.files is None:
        yield f"{layer.name}: the files that differ are not known"
        return
    if not layer.files:
        yield f"{layer.name}: the files are equal, and their order or other attributes differ"
        return
    verb = "differs" if len(layer.files) == 1 else "differ"
    yield f"{layer.name}: {counted(len(layer.files), 'file')} {verb}"
    rows = [(one_line(each.path), ", ".join(each.how)) for each in layer.files[:_SHOWN]]
    yield from (f"  {line}" for line in columns(rows))
    if (more := len(layer.files) - _SHOWN) > 0:
        yield f"  and {more:,} more; --format json has all"


def reproduction_json(found: Reproduction) -> str:
    """The same as JSON, with all files."""
    content: Mapping[str, object] = {
        "image": found.image,
        "target": found.target,
        "commit": found.commit,
        "keys": {"original": found.original_key, "rebuilt": found.rebuilt_key},
        "equal": found.equal,
        "layers": [
            {
                "name": layer.name,
                "equal": layer.equal,
                "original": layer.original,
                "rebuilt": layer.rebuilt,
                "files": None
                if layer.files is None
                else [{"path": each.path, "differs": each.how} for each in layer.files],
            }
            for layer in found.layers
        ],
        "notes": found.notes,
    }
    return json_text(content)
