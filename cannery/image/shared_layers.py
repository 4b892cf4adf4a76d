# SPDX-License-Identifier: Apache-2.0
"""Which layers several targets have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cannery.image.layers import Layer


@dataclass(frozen=True, kw_only=True)
class SharedLayer:
    """A layer that several targets have; ``targets`` are their ids."""

    layer: Layer
    targets: tuple[str, ...]


def shared(layers: Mapping[str, Sequence[Layer]]) -> tuple[SharedLayer, ...]:
    """The layers that several targets have; ``layers`` maps ids of targets to their layers."""
    first: dict[str, Layer] = {}
    users: dict[str, list[str]] = {}
    for name, each in layers.items():
        for layer in each:
            first.setdefault(layer.identity, layer)
            users.setdefault(layer.identity, []).append(name)
    return tuple(
        SharedLayer(layer=first[identity], targets=tuple(names))
        for identity, names in users.items()
        if len(names) > 1
    )
