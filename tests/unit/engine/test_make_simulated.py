# SPDX-License-Identifier: Apache-2.0
"""The simulated driver of a target some of whose files have no stand-in and are not here."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import ArtifactError
from cannery.common.model import SIMULATED_CHIPS
from cannery.common.package_index import PackageIndex
from cannery.engine import base, simulator
from cannery.engine.builder import Builder
from cannery.engine.simulator import make_simulated, simulate
from cannery.image.bake_file import ImageBuild
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

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
