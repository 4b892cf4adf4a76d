# SPDX-License-Identifier: Apache-2.0
"""A small checkout whose images are built, and an engine that is a stand-in and hands them out."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cannery.building import assembly
from cannery.common.errors import VerificationError
from cannery.engine import client as engine
from cannery.image.content_key import LABEL
from cannery.matrix.project import Project
from cannery.publish import oci_image
from cannery.publish.attestations import Builder
from cannery.publish.inventory import Inventory, Package
from cannery.publish.oci_image import PackedImage
from cannery.publish.policy import Publishing
from cannery.publish.push import Push
from cannery.publish.push_checks import PushOptions
from cannery.registry.client import Repository
from tests.unit.archives import Saved, layer, pieces
from tests.unit.matrices import Checkout
from tests.unit.world import OTHER_FILE, World, stand_in

from .goods import tags_of

POLICY = Publishing(
    repository="ascend",
    immutable="{target}-{key}",
    moving="{target}",
    aliases={"latest": "full"},
)

PULLED = "sha256:pulled"
"""The id of every image that the engine has pulled."""

COPIED = 15
"""How many layers the Dockerfile of 'full' copies onto its base."""


class Place:
    """A checkout whose images are built, and an engine that has what it says they are."""

    def __init__(self, world: World, repository: Repository) -> None:
        self.world = world
        self.repository = repository
        self.tried: list[tuple[str, str]] = []
        self.fails = False
        self.torch = self.published_torch = "2.3.1"
        self.gone: list[str] = []
        self.packages = ""
        """What a build takes that is no part of the content key, such as packages of its day."""

    @property
    def releases(self) -> Path:
        return self.world.checkout.project.releases

    def saved(self, image: str) -> Saved:
        labels = self.world.store[image][1]
        text = f"{labels[LABEL]} {self.packages}"
        layers = (layer("base"), *(layer(f"{text} {n}") for n in range(COPIED)))
        return Saved(layers=layers, labels=labels)

    def details(self, image: str) -> dict[str, Any]:
        layers = [*self.saved(image).diff_ids]
        return {"Os": "linux", "Architecture": "arm64", "RootFS": {"Layers": layers}}

    def archive(self, image: str) -> Iterator[bytes]:
        return pieces(self.saved(image).layout("gzip"))

    def pull(self, repository: str, digest: str, platform: str, login: tuple[str, str]) -> str:
        assert self.repository.resolve(digest) == digest
        assert (repository, platform) == (str(self.repository), "linux/arm64")
        assert login[0] == "publisher"
        return PULLED

    def inventory(self, image: str, *_: object) -> Inventory:
        version = self.published_torch if image == PULLED else self.torch
        wheels = (Package(name="torch", version=version),)
        return Inventory(wheels=wheels, debian=(Package(name="libc6", version="2.31"),), vendor=())

    def smoke(self, packed: PackedImage, image: str) -> None:
        self.tried.append((packed.candidate.target.id, image))
        if self.fails:
            raise VerificationError("it does not import")

    def push(self, names: list[str] | None = None, **more: Any) -> list[str]:
        options = PushOptions(
            allow=tuple(more.pop("allow", ())),
            artifacts=self.world.artifacts,
            **more,
        )
        push = Push(
            project=self.world.checkout.project,
            publishing=POLICY,
            repository=self.repository,
            options=options,
        )
        push.smoke = self.smoke  # type: ignore[method-assign]
        return [each.root.digest for each in push.run(self.world.selection(names or ["full"]))]

    def tags(self) -> dict[str, str]:
        return tags_of(self.repository)

    def commit(self) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        root = self.world.checkout.project.root
        for words in (["add", "--all"], ["commit", "--quiet", "--allow-empty", "--message", "all"]):
            subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)

    def rebuild(self) -> None:
        """Build full again from another file."""
        name = self.world.checkout.matrix.targets["full"].artifacts["toolkit"].name
        (self.world.artifacts / name).write_text(OTHER_FILE, encoding="utf-8")
        self.world.run(["full"])


def built_place(world: World, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The checkout of ``world``, committed, with everything built."""
    world.run()
    result = Place(world, repository)
    root = world.checkout.project.root
    (root / ".gitignore").write_text("/.cannery/\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    result.commit()
    _stand_in(result, monkeypatch)
    return result


def empty_runner(place: Place, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A fresh clone of the checkout of ``place``, on a machine that has built nothing."""
    earlier = place.world.checkout
    clone = ["git", "clone", "--quiet", str(earlier.project.root), str(folder)]
    subprocess.run(clone, check=True, capture_output=True)
    checkout = Checkout(project=Project(root=folder), matrix=earlier.matrix)
    artifacts = folder.with_name("artifacts")
    shutil.copytree(place.world.artifacts, artifacts)
    world = World(checkout=checkout, artifacts=artifacts)
    stand_in(world, monkeypatch)
    monkeypatch.setattr(assembly, "now", lambda: "2026-12-01T12:00:00Z")
    result = Place(world, place.repository)
    _stand_in(result, monkeypatch)
    return result


def _stand_in(result: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "image_details", result.details)
    monkeypatch.setattr(engine, "saved", result.archive)
    monkeypatch.setattr(engine, "pull_digest", result.pull)
    monkeypatch.setattr(engine, "image_id", lambda _: "")
    monkeypatch.setattr(engine, "remove_name", result.gone.append)
    monkeypatch.setattr(oci_image, "image_inventory", result.inventory)
    monkeypatch.setattr(oci_image, "builder", lambda **_: Builder())
