# SPDX-License-Identifier: Apache-2.0
"""Simulated builds, and the simulated driver of a target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cannery.building import running
from cannery.common.errors import ArtifactError
from cannery.common.model import SIMULATED_CHIPS
from cannery.common.package_index import PackageIndex
from cannery.engine import base, simulator
from cannery.engine.builder import Builder
from cannery.engine.simulator import Simulated, make_simulated, simulate
from cannery.image.bake_file import ImageBuild
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT
from tests.unit.world import World, make_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return make_world(tmp_path, monkeypatch)


@pytest.fixture
def builds(world: World, monkeypatch: pytest.MonkeyPatch) -> list[ImageBuild]:
    """Everything that is built."""
    found: list[ImageBuild] = []

    def bake(wanted: Sequence[ImageBuild], *rest: Any) -> Any:
        found.extend(wanted)
        return world.bake(wanted, *rest)

    monkeypatch.setattr(running, "bake", bake)
    made = Simulated(artifacts=world.artifacts, host=world.artifacts)
    monkeypatch.setattr(running, "simulate", lambda *_: made)
    return found


@pytest.mark.parametrize("simulate", [True, False])
def test_the_dockerfile_has_an_argument_for_simulated_images(
    world: World, builds: list[ImageBuild], *, simulate: bool
) -> None:
    world.run(["full"], simulate=simulate)
    [build] = builds
    assert build.arguments.get("SIMULATED") == ("true" if simulate else None)
    assert build.labels["io.cannery.simulated"] == str(simulate).lower()


def test_a_stand_in_among_the_vendor_s_files_is_not_built_from(
    world: World, builds: list[ImageBuild]
) -> None:
    for file in world.checkout.matrix.targets["full"].artifacts.values():
        text = "#!/bin/sh\n# SIMULATED by cannery: no vendor software.\n"
        (world.artifacts / file.name).write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError, match="is a stand-in made by the simulator"):
        world.run(["full"])
    assert builds == []
    world.run(["full"], simulate=True)
    assert len(builds) == 1


INDEX = PackageIndex(ca=None, index_url="")


def test_the_driver_needs_no_file_of_the_vendor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def write_stage(build: ImageBuild, _: str, folder: Path, *__: object) -> None:
        assert build.arguments["BUILD_IMAGE"]
        (folder / "host").mkdir(parents=True)

    monkeypatch.setattr(simulator, "write_stage", write_stage)
    monkeypatch.setattr(simulator, "find_builder", lambda _: Builder(name="default", local=True))
    monkeypatch.setattr(base, "pull", lambda *_: None)
    monkeypatch.setattr(simulator, "building_architecture", lambda: "arm64")
    targets = Project(root=CHECKOUT).matrix().targets.values()
    target = next(t for t in targets if t.chip in SIMULATED_CHIPS and t.real_artifacts)
    project = Project(root=tmp_path)
    with pytest.raises(ArtifactError):
        simulate(project, target, INDEX, tmp_path)
    assert not project.state.exists()
    assert make_simulated(project, target, INDEX).host.is_dir()
    assert f"{target.id}: compiling the software device" in capsys.readouterr().err
    assert make_simulated(project, target, INDEX).host.is_dir()
    assert capsys.readouterr().err == ""
