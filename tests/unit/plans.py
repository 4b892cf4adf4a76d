# SPDX-License-Identifier: Apache-2.0
"""A plan that has something of everything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from cannery.building.plan import Action, Change, Plan, Step, missing
from cannery.image.layers import Layer, LayerKind


def layer(name: str) -> Layer:
    return Layer(name=name, stage=name, kind=LayerKind.WHEELS, inputs=(), components=frozenset())


def step(name: str, *layers: str, **fields: Any) -> Step:
    """A step of the target ``name`` with these layers."""
    target = SimpleNamespace(id=name)
    rendered: Any = SimpleNamespace(target=target, layers=tuple(map(layer, layers)))
    return Step(rendered=rendered, **fields)


PLAN = Plan(
    steps=(
        step(
            "one",
            *("toolkit", "own-1"),
            why="this machine has no cannery:one",
            key="k1",
            published="r/x:one is out of date",
        ),
        step("two-is-long", "toolkit", "own-2", why="--force", key="k2"),
        step(
            "three",
            "toolkit",
            action=Action.SKIP,
            why="cannery:three is up to date",
            key="k3",
            image="sha256:3",
        ),
        step(
            "four",
            action=Action.SKIP,
            why=missing({"a.run": "the vendor", "b.whl": "its makers"}),
            missing={"a.run": "the vendor", "b.whl": "its makers"},
        ),
        step(
            "five",
            action=Action.SKIP,
            why="there is no software device of chip 310p",
            missing={"b.whl": "its makers", "c.gz": "CPython 3.7's sources"},
        ),
    ),
    shard="1/2",
    other_shards=("six",),
    change=Change(
        component="torch",
        rebuilt={"one": ("wheels-torch",)},
        kept={"one": ("toolkit",), "two-is-long": ("toolkit",)},
    ),
)
