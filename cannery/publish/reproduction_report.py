# SPDX-License-Identifier: Apache-2.0
"""Shows how an image that was built again compares with the original, as text or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cannery.common.columns import columns
from cannery.common.errors import counted
from cannery.common.printable import json_text, one_line
from cannery.publish.layer_files import FileChange

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
