# SPDX-License-Identifier: Apache-2.0
"""A plan that has something of everything."""

from __future__ import annotations

from cannery.building.plan import Action, Change, Plan, Step, missing
from cannery.image.layers import Layer, LayerKind


def layer(name: str) -> Layer:
    return Layer(name=name, stage=name, kind=LayerKind.WHEELS, inputs=(), components=frozenset())


PLAN = Plan(
    steps=(
        Step(
            id="one",
            action=Action.BUILD,
            why="this machine has no cannery:one",
            key="k1",
            missing={},
            layers=(layer("toolkit"), layer("own-1")),
            published="r/x:one is out of date",
        ),
        Step(
            id="two-is-long",
            action=Action.BUILD,
            why="--force",
            key="k2",
            missing={},
            layers=(layer("toolkit"), layer("own-2")),
        ),
        Step(
            id="three",
            action=Action.SKIP,
            why="cannery:three is up to date",
            key="k3",
            image="sha256:3",
            missing={},
            layers=(layer("toolkit"),),
        ),
        Step(
            id="four",
            action=Action.SKIP,
            why=missing({"a.run": "the vendor", "b.whl": "its makers"}),
            missing={"a.run": "the vendor", "b.whl": "its makers"},
        ),
        Step(
            id="five",
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
