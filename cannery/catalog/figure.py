# SPDX-License-Identifier: Apache-2.0
"""The picture of the matrix: a line for each image, through boxes for the layers that it shares.

A box is one layer, as cannery.image.layers defines it: lines in one box share that layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from cannery.catalog.facets import age, facets
from cannery.common.model import Target
from cannery.image.layers import Layer

_SLOT = 22
"""The height of one line in a box, in units of the picture."""
_GAP = 8
_TOP = 40
_BOX = 160
_STEP = 245
_LABEL = 330
"""The width of the last column, which has the images' names."""

_COLUMNS = {
    "python": ("os", "python"),
    "cann": ("toolkit",),
    "framework": ("wheels-torch", "wheels-vendor-torch"),
}
"""Column to the layers that make it."""

_OTHERWISE = ("wheels-application",)
"""The layer in their place where a target has none of them: MindSpore is an application."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """A layer. ``ids`` are the targets that have it, in the order of their lines."""

    label: str
    ids: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, kw_only=True)
class Line:
    """A target. ``path`` is the ``d`` attribute of an SVG path; the name is at (x, y)."""

    id: str
    path: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Everything that is drawn, in units of the picture, which is ``width`` by ``height``."""

    width: float
    height: float
    columns: Mapping[str, float]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def figure(targets: Sequence[Target], layers: Mapping[str, Sequence[Layer]]) -> Figure:
    """The picture of ``targets``, whose layers ``layers`` holds by target id."""
    labels = {target.id: _labels(target) for target in targets}
    columns = [_groups(targets, layers, names) for names in _COLUMNS.values()]
    order = _order(targets, columns)
    places: dict[str, list[tuple[float, float]]] = {target.id: [] for target in targets}
    boxes: list[Box] = []
    full = len(targets) * _SLOT + (max(map(len, columns), default=1) - 1) * _GAP
    for number, (name, groups) in enumerate(zip(_COLUMNS, columns, strict=True)):
        ordered = sorted(groups, key=lambda ids: mean(order[each] for each in ids))
        gap = (full - len(targets) * _SLOT) / max(len(ordered) - 1, 1)
        y = float(_TOP)
        for ids in ordered:
            lined = tuple(sorted(ids, key=lambda each: order[each]))
            box = Box(
                label=labels[lined[0]][name],
                ids=lined,
                x=number * _STEP,
                y=y,
                width=_BOX,
                height=len(lined) * _SLOT,
            )
            boxes.append(box)
            for slot, each in enumerate(lined):
                places[each].append((box.x, y + (slot + 0.5) * _SLOT))
            y += box.height + gap
    last = len(columns) * _STEP
    spread = full / max(len(targets), 1)
    for each, place in order.items():
        places[each].append((last, _TOP + (place + 0.5) * spread))
    heads = {name: number * _STEP for number, name in enumerate([*_COLUMNS, "image"])}
    return Figure(
        width=last + _LABEL,
        height=_TOP + full + _GAP,
        columns=heads,
        boxes=tuple(boxes),
        lines=tuple(_line(target.id, places[target.id]) for target in targets),
    )


def _labels(target: Target) -> dict[str, str]:
    return {
        "python": f"Python {target.python.version}",
        "cann": f"CANN {target.cann.version}",
        "framework": _framework(target),
    }


def _framework(target: Target) -> str:
    """torch, or what stands in its place."""
    if target.torch:
        return f"torch {target.torch}"
    return (
        f"{target.application.component} {target.application.version}"
        if target.application
        else "-"
    )


def _groups(
    targets: Sequence[Target], layers: Mapping[str, Sequence[Layer]], names: Sequence[str]
) -> list[list[str]]:
    """The ids of those targets together whose layers called ``names`` are the same."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for target in targets:
        found = {layer.name: layer.identity for layer in layers[target.id]}
        own = [found[name] for name in names if name in found]
        own = own or [found[name] for name in _OTHERWISE if name in found]
        groups.setdefault(tuple(own), []).append(target.id)
    return list(groups.values())


def _order(targets: Sequence[Target], columns: Sequence[list[list[str]]]) -> dict[str, int]:
    """Target id to its place from the top: the newest first, and what shares a box side by side.

    CANN decides, then torch, then Python: so the lines between these columns and the images hardly
    cross.
    """
    keys = {}
    numbers = [
        {each: number for number, ids in enumerate(groups) for each in ids} for groups in columns
    ]
    for target in targets:
        python, cann, framework = (number[target.id] for number in numbers)
        newest = {name: age(name, version) for name, version in facets(target).items()}
        keys[target.id] = (
            *(newest["cann"], cann),
            *(newest["torch"], framework),
            *(newest["python"], python),
        )
    return {each: place for place, each in enumerate(sorted(keys, key=lambda each: keys[each]))}


def _line(name: str, places: Sequence[tuple[float, float]]) -> Line:
    """A line from box to box, level where it leaves and where it enters."""
    (x, y), *later = places
    path = f"M{x:g} {y:g}"
    for to_x, to_y in later:
        start = x + _BOX
        middle = (start + to_x) / 2
        path += f"H{start:g}C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"
        x, y = to_x, to_y
    return Line(id=name, path=path, x=x, y=y)
