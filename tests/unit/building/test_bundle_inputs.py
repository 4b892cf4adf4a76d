# SPDX-License-Identifier: Apache-2.0
"""What builds take out of a bundle: its bases, and files with modes that are equal everywhere."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cannery.building.bundle import build, inputs
from cannery.building.bundle.archive import Contents
from cannery.building.bundle.build import restore_simulator
from cannery.building.bundle.inputs import (
    bundled_base,
    keep_bases,
    layout_contexts,
    with_equal_modes,
)
from cannery.building.planning import Selection
from cannery.common.bases import Base, FoundBase, Origin
from cannery.common.errors import ArtifactError, BuildError
from cannery.engine.builder import Builder
from cannery.engine.simulator import simulated
from cannery.image.bake_file import ImageBuild
from cannery.matrix.project import Project
from cannery.options import BuildOptions
from tests.unit.matrices import CHECKOUT

PROJECT = Project(root=CHECKOUT)
TARGET = PROJECT.matrix().targets["py39-torch231-cann8t39"]
BASE = TARGET.base
DIGEST = "sha256:" + "1" * 64
PINNED = FoundBase(reference=BASE.image, identity=BASE.image, origin=Origin.REGISTRY)


@dataclass
class Finder:
    """Bases that are found without an engine."""

    builder: Builder = field(default_factory=lambda: Builder(name="default", local=True))
    asked: list[str] = field(default_factory=list)

    def find(self, base: Base, architecture: str) -> FoundBase:
        self.asked.append(f"{base.name} {architecture}")
        return PINNED


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a bundle with one base."""

    def export(_: Builder, __: str, ___: str, folder: Path) -> None:
        folder.mkdir(parents=True)
        text = json.dumps({"manifests": [{"digest": DIGEST}]})
        (folder / "index.json").write_text(text)

    monkeypatch.setattr(inputs, "export_layout", export)
    finder = Finder()
    used = [(BASE, "arm64"), (BASE, "arm64")]
    keep_bases(tmp_path / "bundle", used, finder)  # type: ignore[arg-type]
    assert finder.asked == [f"{BASE.name} arm64"]
    return tmp_path / "bundle"


def test_a_base_of_the_bundle_is_the_base_that_its_maker_used(bundle: Path) -> None:
    assert bundled_base(bundle, BASE, "arm64") == PINNED
    layout = bundle / "bases" / f"{BASE.name}-arm64"
    contexts = layout_contexts(bundle, [(BASE, "arm64")])
    assert contexts == {PINNED.reference: f"oci-layout://{layout}@{DIGEST}"}


def test_a_base_that_the_bundle_does_not_have(bundle: Path) -> None:
    with pytest.raises(ArtifactError, match=f"does not have base {BASE.name} for linux/amd64"):
        bundled_base(bundle, BASE, "amd64")


@pytest.mark.parametrize(
    "index",
    [
        "",
        "[]",
        "{}",
        '{"manifests": []}',
        '{"manifests": [7]}',
        '{"manifests": [{"digest": "x"}]}',
        "[" * 9999,
    ],
)
def test_a_layout_that_is_no_image(bundle: Path, index: str) -> None:
    (bundle / "bases" / f"{BASE.name}-arm64" / "index.json").write_text(index)
    with pytest.raises(ArtifactError, match="is not an image"):
        layout_contexts(bundle, [(BASE, "arm64")])


def test_the_umask_of_a_checkout_does_not_matter(tmp_path: Path) -> None:
    def modes(name: str, umask: int) -> dict[str, int]:
        before = os.umask(umask)
        try:
            for folder in ("image", "cannery"):
                (tmp_path / name / folder).mkdir(parents=True)
                (tmp_path / name / folder / "file").write_text("text")
                (tmp_path / name / folder / "program").touch(0o777)
            plain = ImageBuild(
                id="a",
                tag="a",
                dockerfile=tmp_path / name / "image" / "Dockerfile",
                folder=tmp_path / name / "image",
                platform="linux/arm64",
                contexts={"cannery": str(tmp_path / name / "cannery"), "artifacts": "x"},
            )
            made = with_equal_modes(plain, {"base": "oci-layout://y"}, tmp_path / f"{name}-copy")
        finally:
            os.umask(before)
        assert made.dockerfile == made.folder / "Dockerfile"
        assert {**made.contexts, "cannery": ""} == {
            "artifacts": "x",
            "base": "oci-layout://y",
            "cannery": "",
        }
        place = made.folder.parent
        return {str(p.relative_to(place)): p.stat().st_mode & 0o777 for p in place.rglob("*")}

    assert modes("one", 0o002) == modes("other", 0o077)


def test_simulated_packages_with_a_link_out_of_their_folder_are_refused(tmp_path: Path) -> None:
    """Inside of the unpacked bundle, it would lead elsewhere once the packages are moved."""
    project = Project(root=tmp_path)
    place = simulated(project, TARGET).artifacts.parent
    tree = tmp_path / "bundle" / "simulator" / place.name
    tree.mkdir(parents=True)
    (tree / "host").mkdir()
    (tree / "link").symlink_to("host")
    restore_simulator(project, tmp_path / "bundle", [TARGET], tmp_path / "x.bundle")
    assert (place / "link").readlink() == Path("host")
    (place / "link").unlink()
    (place / "host").rmdir()
    place.rmdir()
    (tree / "artifacts").symlink_to("../../elsewhere")
    with pytest.raises(ArtifactError, match="artifacts leads out of its folder"):
        restore_simulator(project, tmp_path / "bundle", [TARGET], tmp_path / "x.bundle")
    assert not place.exists()


def test_a_step_that_needs_a_network_names_the_engine_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = PROJECT.matrix()
    contents = Contents(
        simulate=True, targets={TARGET.id: "1" * 64}, commit="c" * 40, engine="29.1.0"
    )
    given: list[BuildOptions] = []

    def fail(_: Project, __: Selection, options: BuildOptions, *___: object) -> None:
        given.append(options)
        raise BuildError("apt-get update failed.")

    monkeypatch.setattr(build, "unpack", lambda *_: (tmp_path, contents))
    monkeypatch.setattr(build, "state_keys", lambda _: lambda *_: "1" * 64)
    monkeypatch.setattr(build, "find_builder", lambda _: Builder(name="default", local=False))
    monkeypatch.setattr(build, "make_plan", lambda *_: None)
    monkeypatch.setattr(build, "build_all", fail)
    selection = Selection(matrix=matrix, targets=(TARGET,), named=frozenset())
    options = BuildOptions()
    with pytest.raises(BuildError) as caught:
        build.build_from_bundle(Project(root=tmp_path), selection, options, tmp_path / "x.bundle")
    first, last = map(str, caught.value.problems)
    assert first == "apt-get update failed."
    assert "The cache is of engine 29.1.0." in last
    [options] = given
    assert options.cache_from == (f"type=local,src={tmp_path}/cache/{TARGET.id}-sim",)
    assert (options.bundle, options.simulate) == (tmp_path, True)
