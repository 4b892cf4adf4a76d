# SPDX-License-Identifier: Apache-2.0
"""Making a bundle, without an engine: what is built, and what the file has in the end."""

from __future__ import annotations

import tarfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cannery.building.bundle import pack
from cannery.building.bundle.archive import unpack
from cannery.building.plan import Action, Plan, Step
from cannery.building.planning import Planned, Selection
from cannery.common.errors import EngineError
from cannery.engine.builder import Builder
from cannery.fetch.needs import needed_files
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from tests.unit.matrices import CHECKOUT

MATRIX = Project(root=CHECKOUT).matrix()
TARGETS = tuple(
    MATRIX.targets[name] for name in ("py39-torch231-cann8t39", "py39-torch231-cann8t39-ds0143")
)
SELECTION = Selection(matrix=MATRIX, targets=TARGETS, named=frozenset())
BLOB = "0" * 64


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A checkout that has the vendor's files, and an engine that has both images already."""
    project = Project(root=tmp_path / "checkout")
    project.artifacts.mkdir(parents=True)
    for target in TARGETS:
        for file in needed_files(target, simulate=False).values():
            (project.artifacts / file.name).write_text(file.name)
            (project.artifacts / file.name).chmod(0o664)
    steps = tuple(
        Step(id=target.id, action=Action.SKIP, why="up to date", missing={}) for target in TARGETS
    )
    engine = SimpleNamespace(version=lambda: {"Version": "29.1.0"})
    builder = Builder(name="default", local=False)
    monkeypatch.setattr(pack, "find_builder", lambda _: builder)
    monkeypatch.setattr(pack, "make_plan", lambda *_: Planned(plan=Plan(steps=steps)))
    monkeypatch.setattr(pack, "talking", lambda: nullcontext(engine))
    monkeypatch.setattr(pack, "state_keys", lambda _: lambda *_: "1" * 64)
    monkeypatch.setattr(pack, "keep_bases", lambda *_: None)
    monkeypatch.setattr(pack, "run", lambda *_, **__: (0, ""))
    return project


def exported(
    _: Project, selection: Selection, options: BuildOptions, planned: Planned, *__: object
) -> None:
    """A build that exports the cache of each target, as ``options`` say."""
    assert {step.action for step in planned.plan.steps} == {Action.BUILD}
    [cache] = options.cache_to
    fields = dict(field.split("=") for field in cache.split(","))
    assert (fields["type"], options.bundle) == ("local", options.artifacts.parent)
    for target in selection.targets:
        blobs = Path(fields["dest"].format(target=target.id)) / "blobs" / "sha256"
        blobs.mkdir(parents=True)
        (blobs / BLOB).write_bytes(b"layer" * 10_000)


def test_a_bundle_has_the_cache_of_targets_that_are_up_to_date(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "build_all", exported)
    out = tmp_path / "x.bundle"
    options = BuildOptions(artifacts=project.artifacts)
    digest = pack.make_bundle(project, SELECTION, options, out)
    folder, contents = unpack(out, tmp_path / "out")
    assert folder.name == digest
    assert contents.targets == {target.id: "1" * 64 for target in TARGETS}
    assert contents.engine == "29.1.0"
    files = {path.name: path.stat().st_mode & 0o777 for path in (folder / "artifacts").iterdir()}
    assert files == {path.name: 0o644 for path in project.artifacts.iterdir()}
    for target in TARGETS:
        assert (folder / "cache" / target.id / "blobs" / "sha256" / BLOB).is_file()
    with tarfile.open(out) as archive:
        assert sum(member.size > 40_000 for member in archive) == 1, "equal blobs are stored once"
    assert not (project.state / "bundles" / "making").exists()


def test_packages_that_pip_cannot_download(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "run", lambda *_, **__: (1, "https://me:secret@index.test: 404"))
    options = replace(
        BuildOptions(artifacts=project.artifacts), index_url="https://me:secret@index.test"
    )
    with pytest.raises(EngineError, match="pip could not download the packages") as caught:
        pack.make_bundle(project, SELECTION, options, tmp_path / "x.bundle")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "x.bundle").exists()
    assert not (project.state / "bundles" / "making").exists()
