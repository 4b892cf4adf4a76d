# SPDX-License-Identifier: Apache-2.0
"""The shards of machines that differ in their files and settings are one division."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cannery.building import planning
from cannery.building.plan import Plan
from cannery.building.planning import Selection, make_plan, with_images
from cannery.common.files import write_files
from cannery.common.option import Shard
from cannery.image.render import Renderer
from cannery.matrix.settings import Settings, with_settings
from cannery.options import BuildOptions
from tests.unit.image.test_vendor_image import IMAGE
from tests.unit.matrices import MATRIX, make_checkout

CHIPS = ("910b", "310p", "a3")
TARGETS = [
    f"{name}-{chip}{number}" for name in ("full", "bare") for chip in CHIPS for number in (1, 2)
]
IMAGES = {chip: f"{IMAGE[:-1]}{number}" for number, chip in enumerate(CHIPS)}
"""An image of the vendor's for each chip, all with the same toolkit."""

SETTINGS = st.builds(
    Settings,
    images=st.sampled_from([{}, {"8.0.RC2": {"910b": IMAGE}}, {"8.0.RC2": dict(IMAGES)}]),
    mirrors=st.sampled_from([{}, {"docker.io": ("mirror.test",)}]),
)

FILES_OF: tuple[list[str], ...] = ([], ["full-910b1"], TARGETS)
"""The targets whose vendor's files a machine may have."""

ORDERS = st.lists(
    st.sampled_from(["folder", "image", "download"]), min_size=1, max_size=3, unique=True
)

Machine = tuple[Settings, list[str], int, bool]
MACHINES = st.tuples(SETTINGS, ORDERS, st.integers(0, len(FILES_OF) - 1), st.booleans())
"""The settings of a machine, its order of sources, its files, and whether it simulates."""


def many_targets() -> str:
    """The small matrix with both targets for several chips."""
    loaded = yaml.safe_load(MATRIX)
    for release in loaded["cann"].values():
        kernels = release["kernels"]["910b"]
        release["kernels"] = {
            chip: {**kernels, "file": kernels["file"].replace("910b", chip)} for chip in CHIPS
        }
    targets = loaded.pop("targets")
    loaded["targets"] = {}
    for name in TARGETS:
        like, _, chip = name.partition("-")
        target = targets[like]
        loaded["targets"][name] = {
            **target,
            "unverified": "a test",
            "cann": {**target["cann"], "chip": chip[:-1]},
        }
    return yaml.safe_dump(loaded, sort_keys=False)


Planned = Callable[[Machine, Shard], Plan]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """What a machine plans as its share of all targets."""
    checkout = make_checkout(tmp_path_factory.mktemp("shards"), many_targets())
    project, targets = checkout.project, checkout.matrix.targets.values()
    for rendered in Renderer(project).render_all(targets).values():
        write_files(rendered.paths(project))
    for number, owners in enumerate(FILES_OF):
        folder = project.root / f"files{number}"
        folder.mkdir()
        for file in (file for t in targets if t.id in owners for file in t.artifacts.values()):
            (folder / file.name).write_text("#!/bin/sh\n", encoding="utf-8")

    def plan(machine: Machine, shard: Shard) -> Plan:
        settings, order, number, simulate = machine
        matrix = with_settings(checkout.matrix, settings)
        selection = Selection(
            matrix=matrix,
            targets=tuple(matrix.targets.values()),
            named=frozenset(),
            shard=shard,
        )
        options = BuildOptions(
            artifacts=project.root / f"files{number}",
            simulate=simulate,
            sources=tuple(order),
            from_settings=frozenset(["sources"]),
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(planning, "local_images", lambda _: {})
            return make_plan(project, with_images(selection, options, settings), options)

    return plan


@given(machines=st.lists(MACHINES, min_size=1, max_size=6))
def test_shards_of_different_machines_are_disjoint_and_complete(
    machines: Sequence[Machine], planned: Planned
) -> None:
    built: list[str] = []
    for index, machine in enumerate(machines, 1):
        plan = planned(machine, Shard(index, len(machines)))
        own = {step.id for step in plan.steps} | {*plan.failures}
        assert sorted([*own, *plan.other_shards]) == sorted(TARGETS)
        built += own
    assert sorted(built) == sorted(TARGETS)
