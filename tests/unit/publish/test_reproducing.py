# SPDX-License-Identifier: Apache-2.0
"""Which checkout an image is built again in, and how the result is compared; nothing is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from cannery.building import clean_build as anew
from cannery.common.errors import (
    ArtifactError,
    BuildError,
    CanneryError,
    EngineError,
    OutOfSyncError,
    UsageError,
)
from cannery.engine import client as engine
from cannery.engine.builder import Builder
from cannery.engine.simulator import Simulated
from cannery.image.content_key import LABEL
from cannery.options import TransferOptions
from cannery.publish import reproducing
from cannery.publish.originals import ONLY_ORIGINAL, FileChange, Layers, Original, read_layer
from cannery.publish.reproducing import Reproduction, reproduce
from tests.unit.archives import Saved, layer, pieces
from tests.unit.changes import SIM, commit, git
from tests.unit.world import World, make_world

pytestmark = pytest.mark.slow

BASE, OWN = layer("base"), layer("own")


@dataclass
class Engine:
    """An engine whose builds give an image of the layers ``layers``."""

    world: World
    layers: tuple[bytes, ...] = (BASE, OWN)
    names: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    @property
    def saved(self) -> Saved:
        return Saved(layers=self.layers, labels={})

    def image_details(self, image: str) -> dict[str, Any]:
        _, labels = self.world.store[image]
        root = {"Layers": [*self.saved.diff_ids]}
        return {"Config": {"Labels": labels}, "RootFS": root, "RepoTags": self.names}

    def run(self, words: list[str], **_: object) -> tuple[int, str]:
        self.removed.append(words[-1])
        return 0, ""


@dataclass
class Repository:
    """A checkout under git, and an image that was built at its commit."""

    world: World
    engine: Engine
    original: Original

    @property
    def root(self) -> Path:
        return self.world.checkout.project.root

    def reproduce(self, **changes: Any) -> Reproduction:
        original = replace(self.original, **changes)
        project = self.world.checkout.project
        return reproduce(project, original, self.world.options(), TransferOptions())


def files_of(*layers: bytes) -> Callable[[Any], Any]:
    found = dict(read_layer(BytesIO(each)) for each in layers)
    return lambda wanted: {digest: found[digest] for digest in wanted}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    world = make_world(tmp_path, monkeypatch)
    root = world.checkout.project.root
    git(root, "init", "--quiet")
    (root / ".gitignore").write_text(".cannery/\n", encoding="utf-8")
    commit(root)
    own = Engine(world)
    monkeypatch.setattr(anew, "bake", world.bake)
    monkeypatch.setattr(anew, "find_builder", lambda _: Builder(name="default", local=True))
    monkeypatch.setattr(anew, "run", own.run)
    monkeypatch.setattr(engine, "image_details", own.image_details)
    monkeypatch.setattr(engine, "saved", lambda _: pieces(own.saved.layout("plain")))
    made = Simulated(artifacts=world.artifacts, host=world.artifacts)
    monkeypatch.setattr(reproducing, "simulate", lambda *_: made)
    [step] = world.plan(["full"], force=True).plan.steps
    layers = Layers(digests=own.saved.diff_ids, files=files_of(BASE, OWN))
    original = Original(
        name="registry.example.com/ascend:full",
        target="full",
        platform="linux/arm64",
        simulated=False,
        commit=git(root, "rev-parse", "HEAD"),
        key=step.key,
        vendor_image="",
        layers=lambda: layers,
    )
    return Repository(world=world, engine=own, original=original)


def test_equal_layers(repository: Repository) -> None:
    found = repository.reproduce()
    assert found.equal
    assert [layer.name for layer in found.layers] == ["layer 1", "layer 2"]
    assert found.original_key == found.rebuilt_key
    assert found.notes == []
    assert repository.world.baked == [["full"]]
    assert repository.world.names == set()
    assert repository.engine.removed == ["sha256:1"]


def test_the_layer_and_the_files_that_differ(repository: Repository) -> None:
    repository.engine.layers = (BASE, layer("other"))
    found = repository.reproduce()
    assert [layer.equal for layer in found.layers] == [True, False]
    assert [each.path for each in found.layers[1].files or ()] == ["other", "own"]
    assert FileChange(path="own", how=(ONLY_ORIGINAL,)) in (found.layers[1].files or ())
    assert repository.engine.removed == ["sha256:1"]


@pytest.mark.parametrize("layers", [(BASE,), (BASE, OWN, layer("more"))])
def test_another_number_of_layers(repository: Repository, layers: tuple[bytes, ...]) -> None:
    repository.engine.layers = layers
    found = repository.reproduce()
    assert len(found.layers) == max(2, len(layers))
    assert not found.layers[-1].equal
    assert found.layers[-1].files is None


def test_an_image_that_has_a_name_is_not_removed(repository: Repository) -> None:
    repository.engine.names = ["cannery:full"]
    assert repository.reproduce().equal
    assert repository.engine.removed == []


def test_an_original_that_can_no_longer_be_read(repository: Repository) -> None:
    def files(_: object) -> Any:
        raise EngineError("the registry is gone.")

    repository.engine.layers = (BASE, layer("other"))
    gone = replace(repository.original.layers(), files=files)
    found = repository.reproduce(layers=lambda: gone)
    assert found.layers[1].files is None
    assert found.notes == ["The files of the original cannot be read: the registry is gone."]


def test_other_inputs_of_the_same_commit(repository: Repository) -> None:
    found = repository.reproduce(key="sha256:" + "0" * 64)
    assert found.equal
    assert found.notes[0].startswith("The content keys differ, although the commit is the same")


def test_a_later_commit_with_the_same_files_will_do(repository: Repository) -> None:
    (repository.root / "README.md").write_text("later\n", encoding="utf-8")
    commit(repository.root)
    assert repository.reproduce().equal


OTHER_FILES: dict[str, tuple[str, bool, str]] = {
    "the lock": ("images/full/requirements.lock", False, "requirements.lock"),
    "a program of the build": ("cannery/image/context/seal-layer", False, "cannery/seal-layer"),
    "the simulator": (f"{SIM}/device/new.c", True, f"{SIM}/device/new.c"),
    "matrix.yaml": ("matrix.yaml", False, "matrix.yaml"),
}


@pytest.mark.parametrize(("path", "simulated", "named"), OTHER_FILES.values(), ids=OTHER_FILES)
def test_other_files_than_those_of_the_commit(
    repository: Repository, path: str, simulated: bool, named: str
) -> None:
    place = repository.root / path
    before = place.read_bytes() if place.exists() else b""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"schema: 999\n" if path == "matrix.yaml" else before + b"# changed\n")
    commit(repository.root)
    changed = git(repository.root, "rev-parse", "HEAD")
    place.write_bytes(before)
    with pytest.raises(OutOfSyncError) as caught:
        repository.reproduce(commit=changed, simulated=simulated)
    first, *commands = str(caught.value).splitlines()
    folder = f"{repository.root}-{changed[:12]}"
    assert first.startswith(f"the checkout differs from {changed[:12]}, the commit of registry.")
    assert f" in {named}. " in first
    assert commands == [
        f"    git -C {repository.root} worktree add {folder} {changed}",
        f"    python {folder}/build.py reproduce {repository.original.name}",
    ]
    assert repository.world.baked == []


def test_an_image_without_a_commit_is_built_from_the_checkout(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repository.reproduce(commit="").equal
    assert "does not name a commit: the files of the checkout are used" in capsys.readouterr().err


WRONG: dict[str, tuple[dict[str, str], type[CanneryError], str]] = {
    "a commit of another clone": (
        {"commit": "0" * 40},
        UsageError,
        f"this clone does not have {'0' * 40}, the commit of registry.example.com/ascend:full. ",
    ),
    "a target of another checkout": (
        {"target": "gone"},
        UsageError,
        "matrix.yaml does not have gone, the target of registry.example.com/ascend:full. Run this",
    ),
    "another platform": (
        {"platform": "linux/amd64"},
        UsageError,
        "ascend:full is for linux/amd64, and full for linux/arm64.",
    ),
}


@pytest.mark.parametrize(("changes", "kind", "said"), WRONG.values(), ids=WRONG)
def test_images_that_cannot_be_built_here(
    repository: Repository, changes: dict[str, str], kind: type[CanneryError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        repository.reproduce(**changes)
    assert said in str(caught.value)
    assert repository.world.baked == []


def test_a_vendor_file_that_is_missing(repository: Repository) -> None:
    for path in repository.world.artifacts.iterdir():
        path.unlink()
    with pytest.raises(ArtifactError, match="toolkit_8"):
        repository.reproduce()
    assert repository.world.baked == []


def test_a_build_that_fails(repository: Repository) -> None:
    repository.world.broken = {"full"}
    with pytest.raises(BuildError, match="full: no"):
        repository.reproduce()
    assert repository.engine.removed == []


def test_simulated_packages_are_those_of_the_original(repository: Repository) -> None:
    found = repository.reproduce(simulated=True)
    _, labels = repository.world.store["sha256:1"]
    assert labels["io.cannery.simulated"] == "true"
    assert labels[LABEL] == found.rebuilt_key != found.original_key
