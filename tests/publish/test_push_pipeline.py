# SPDX-License-Identifier: Apache-2.0
"""The whole push of a small checkout into a real registry; the engine is a stand-in.

What a real engine does of it is in test_end_to_end; here it hands out small images.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cannery.errors import CanneryError, EngineError, PublishError, VerificationError
from cannery.execute.cosign import PASSWORD, Transport, verify
from cannery.execute.engine import client as engine
from cannery.execute.registry.client import Repository
from cannery.options.build import PlanOptions
from cannery.options.publish import PushOptions
from cannery.pipeline import oci_image
from cannery.pipeline.oci_image import PackedImage
from cannery.pipeline.planning import make_plan
from cannery.pipeline.push import Push
from cannery.publish.inventory import Inventory, Package
from cannery.publish.oci import manifest_contents
from cannery.publish.policy import Publishing
from cannery.publish.provenance import Builder
from cannery.publish.records import read_records
from tests.unit.archives import Saved, layer, pieces
from tests.unit.world import BOTH, World, make_world

from .keys import SECRET, make_pair
from .servers import Between, Fault

POLICY = Publishing(
    repository="ascend",
    immutable="{target}-{key}",
    moving="{target}",
    aliases={"latest": "full"},
)

COPIED = 14
"""How many layers the Dockerfile of 'full' copies onto its base."""


class Place:
    """A checkout whose images are built, and an engine that has what it says they are."""

    def __init__(self, world: World, repository: Repository) -> None:
        self.world = world
        self.repository = repository
        self.tried: list[tuple[str, str]] = []
        self.fails = False
        self.torch = "2.3.1"
        self.gone: list[str] = []

    @property
    def releases(self) -> Path:
        return self.world.checkout.project.releases

    def saved(self, image: str) -> Saved:
        layers = (layer("base"), *(layer(f"{image} {n}") for n in range(COPIED)))
        return Saved(layers=layers, labels=self.world.store[image][1])

    def details(self, image: str) -> dict[str, Any]:
        layers = [*self.saved(image).diff_ids]
        return {"Os": "linux", "Architecture": "arm64", "RootFS": {"Layers": layers}}

    def archive(self, image: str) -> Iterator[bytes]:
        return pieces(self.saved(image).layout("gzip"))

    def pull(self, repository: str, digest: str, platform: str, login: tuple[str, str]) -> str:
        assert self.repository.resolve(digest) == digest
        assert (repository, platform) == (str(self.repository), "linux/arm64")
        assert login[0] == "publisher"
        return "sha256:pulled"

    def inventory(self, *_: object) -> Inventory:
        wheels = (Package(name="torch", version=self.torch),)
        return Inventory(wheels=wheels, debian=(Package(name="libc6", version="2.31"),), vendor=())

    def smoke(self, packed: PackedImage, image: str) -> None:
        self.tried.append((packed.candidate.target.id, image))
        if self.fails:
            raise VerificationError("it does not import")

    def push(self, names: list[str] | None = None, **more: Any) -> list[str]:
        options = PushOptions(
            registry=self.repository.host,
            allow=tuple(more.pop("allow", ())),
            artifacts=self.world.artifacts,
            **more,
        )
        push = Push(
            project=self.world.checkout.project,
            publishing=POLICY,
            repository=self.repository,
            options=options,
            smoke=self.smoke,
        )
        return [each.root.digest for each in push.run(self.world.selection(names or ["full"]))]

    def tags(self) -> dict[str, str]:
        return {tag: self.repository.resolve(tag) for tag in self.repository.tags()}

    def commit(self) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        root = self.world.checkout.project.root
        for words in (["add", "--all"], ["commit", "--quiet", "--message", "all"]):
            subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)

    def rebuild(self) -> None:
        """Build full again from another file."""
        name = self.world.checkout.matrix.targets["full"].artifacts["toolkit"].name
        path = self.world.artifacts / name
        path.write_text(path.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
        self.world.run(["full"])


@pytest.fixture
def place(tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Place:
    world = make_world(tmp_path, monkeypatch)
    world.run()
    found = Place(world, repository)
    root = world.checkout.project.root
    (root / ".gitignore").write_text("/.cannery/\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    found.commit()
    monkeypatch.setattr(engine, "image_details", found.details)
    monkeypatch.setattr(engine, "saved", found.archive)
    monkeypatch.setattr(engine, "pull_digest", found.pull)
    monkeypatch.setattr(engine, "image_id", lambda _: "")
    monkeypatch.setattr(engine, "remove_name", found.gone.append)
    monkeypatch.setattr(oci_image, "local_images", world.local_images)
    monkeypatch.setattr(oci_image, "image_inventory", found.inventory)
    monkeypatch.setattr(oci_image, "builder", lambda **_: Builder())
    return found


def test_images_statements_tags_and_records(place: Place) -> None:
    full, bare = place.push(BOTH)
    records = {each.target: each for each in read_records(place.releases)}
    told = records["full"]
    key = told.key.removeprefix("sha256:")[:12]
    assert (told.tag, told.tags, told.digest) == (f"full-{key}", ("full", "latest"), full)
    assert place.tags() == {
        **dict.fromkeys((f"full-{key}", "full", "latest"), full),
        **dict.fromkeys((records["bare"].tag, "bare"), bare),
    }
    assert place.tried == [("full", "sha256:pulled"), ("bare", "sha256:pulled")]
    assert place.gone == [f"{place.repository}@{full}", f"{place.repository}@{bare}"]
    [image] = told.platforms.values()
    assert place.repository.resolve(image.digest) == image.digest
    assert len(image.layers) == 1 + COPIED
    assert image.layers[0].name == "base"
    assert [each.passed for each in told.verified] == [1]
    assert told.packages["wheels"] == {"torch": "2.3.1"}
    assert told.changes.since == ""


def test_the_statements_are_in_the_index(place: Place) -> None:
    [digest] = place.push()
    root = place.repository.manifest(digest)
    assert root
    image, statements = manifest_contents(root).manifests
    assert image.platform == "linux/arm64"
    assert statements.annotations["vnd.docker.reference.digest"] == image.digest
    document = place.repository.manifest(statements.digest)
    assert document
    [told] = read_records(place.releases)
    stored = {blob.digest for blob in manifest_contents(document).blobs}
    assert {*told.attestations} == {"sbom", "provenance"}
    assert {*told.attestations.values()} < stored


def test_what_is_pushed_with_a_key_is_signed(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = make_pair(tmp_path / "keys")
    monkeypatch.setenv(PASSWORD, "another")
    with pytest.raises(EngineError, match="is not the one of") as caught:
        place.push(signing_key=pair.private)
    assert caught.value.problems[-1].what == "No tag was moved."
    assert place.tags() == {}
    assert read_records(place.releases) == ()
    monkeypatch.setenv(PASSWORD, SECRET)
    [digest] = place.push(signing_key=pair.private)
    transport = Transport(ca=place.repository.ca)
    verify(place.repository.at(digest), pair.public, transport=transport)
    [told] = read_records(place.releases)
    assert told.signed


def test_a_second_push_tells_the_difference(place: Place) -> None:
    place.push()
    place.commit()
    place.rebuild()
    place.torch = "2.4.0"
    place.push()
    first, second = read_records(place.releases)
    if first.changes.since:  # both were pushed within a second
        first, second = second, first
    assert second.changes.since == first.tag
    assert second.changes.changed == {"torch": ("2.3.1", "2.4.0")}


def test_the_same_push_again_leaves_the_record(place: Place) -> None:
    before = place.push()
    [path] = place.releases.rglob("*.json")
    text = path.read_bytes()
    place.commit()
    place.torch = "other"
    assert place.push() == before
    assert path.read_bytes() == text
    path.unlink()
    place.commit()
    assert place.push(compression="gzip") == before
    [told] = read_records(place.releases)
    assert {each.digest for each in told.platforms["linux/arm64"].layers} == {
        each["digest"] for each in json.loads(text)["platforms"]["linux/arm64"]["layers"]
    }


def test_an_image_that_does_not_work_out_of_the_registry(place: Place) -> None:
    place.fails = True
    with pytest.raises(VerificationError) as caught:
        place.push(BOTH)
    assert str(caught.value.problems[-1]) == "No tag was moved."
    assert place.tags() == {}
    assert not place.releases.exists()
    assert len(place.gone) == 1


def test_a_fault_leaves_neither_tag_nor_record(place: Place, line: Between) -> None:
    line.faults.append(Fault("^PUT .*/manifests/latest", status=500))
    with pytest.raises(CanneryError):
        place.push(BOTH)
    line.faults.clear()
    assert place.tags() == {}
    assert not place.releases.exists()


def test_a_refusal_asks_nothing_of_the_network(place: Place, line: Between) -> None:
    place.world.run(["full"], force=True, test=False)
    line.seen.clear()
    with pytest.raises(PublishError, match="--allow unverified"):
        place.push()
    assert line.seen == []
    place.push(allow=["unverified"])
    [told] = read_records(place.releases)
    assert told.verified == ()


def test_a_plan_says_whether_published_images_are_up_to_date(place: Place) -> None:
    def published() -> dict[str, str]:
        world = place.world
        options = world.options(ca=place.repository.ca)
        wanted = PlanOptions(compare_with=str(place.repository))
        planned = make_plan(world.checkout.project, world.selection(BOTH), options, wanted)
        return {step.id: step.published for step in planned.plan.steps}

    name = str(place.repository)
    place.push()
    assert published() == {
        "full": f"{name}:full is up to date",
        "bare": f"{name}:bare does not exist",
    }
    place.commit()
    place.rebuild()
    assert published()["full"] == f"{name}:full is out of date"


def test_an_image_for_another_platform(
    place: Place, line: Between, monkeypatch: pytest.MonkeyPatch
) -> None:
    details = place.details
    monkeypatch.setattr(
        engine, "image_details", lambda image: {**details(image), "Architecture": "amd64"}
    )
    with pytest.raises(CanneryError, match="is for linux/amd64, not linux/arm64"):
        place.push()
    assert place.tags() == {}
