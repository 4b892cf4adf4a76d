# SPDX-License-Identifier: Apache-2.0
"""One tag for several platforms, and an engine that gets the image of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.errors import PublishError
from cannery.common.references import Reference
from cannery.engine import client as engine
from cannery.publish.policy import Publishing
from cannery.publish.promote import Promotion
from cannery.publish.transaction import ImagePush, PushedImage, images_in
from cannery.registry.client import Repository
from cannery.registry.oci import manifest_contents
from cannery.registry.records import PlatformImage, Record
from cannery.registry.transfer import read_back
from tests.unit.publications import record

from .goods import Push, image_push, tags_of

POLICY = Publishing(
    repository="ascend",
    immutable="{target}-{key}",
    moving="{target}",
    indexes={"both": ("arm", "intel")},
)


def parts(folder: Path) -> list[ImagePush]:
    return [
        image_push(folder, "arm", platform="linux/arm64", moving=("arm",)),
        image_push(folder, "intel", platform="linux/amd64", moving=("intel",)),
    ]


@pytest.fixture
def push(repository: Repository, tmp_path: Path) -> Push:
    push = Push(repository, tmp_path / "releases")
    push.publishing = POLICY
    return push


def test_all_platforms_are_under_one_tag(
    push: Push, repository: Repository, tmp_path: Path
) -> None:
    arm, intel, both = push(*parts(tmp_path))
    assert [*tags_of(repository)] == ["arm", "arm-1", "both", "intel", "intel-1"]
    document = repository.manifest("both")
    assert document
    assert document.digest == both.root.digest
    entries = {each.platform: each.digest for each in manifest_contents(document).manifests}
    assert entries == {
        "linux/arm64": images_in(arm.documents)[0].digest,
        "linux/amd64": images_in(intel.documents)[0].digest,
    }
    assert len(read_back(repository, document.digest, {}, set())) == 3


def test_without_all_of_its_parts_it_stays(
    push: Push, repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = push(*parts(tmp_path))[-1].root.digest
    push(image_push(tmp_path, "arm", "2", moving=("arm",)))
    assert repository.resolve("both") == before
    assert "both stays as it is: push intel to move it" in capsys.readouterr().err


def test_two_machines_push_one_platform_each(
    push: Push, repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arm, intel = parts(tmp_path)
    [first] = push(arm)
    assert not repository.resolve("both")
    push.earlier = {"arm": first.root}
    second, both = push(intel)
    assert "both: takes arm as it was published before" in capsys.readouterr().err
    document = repository.manifest("both")
    assert document
    assert document.digest == both.root.digest
    assert [each.digest for each in manifest_contents(document).manifests] == [
        images_in(image.documents)[0].digest for image in (first, second)
    ]


def test_promotion_of_the_tag_brings_the_images_for_both_platforms(
    push: Push, repository: Repository, tmp_path: Path
) -> None:
    arm, intel, both = push(*parts(tmp_path))
    other = Repository(repository.host, "release/ascend", ca=repository.ca)
    promotion = Promotion(
        source=repository,
        destination=other,
        image=Reference(registry=repository.host, repository=repository.name, tag="both"),
        place=Reference(registry=other.host, repository=other.name),
        publishing=POLICY,
    )
    records = [recorded(arm, "linux/arm64"), recorded(intel, "linux/amd64")]
    with pytest.raises(PublishError, match="no record in releases/ names"):
        promotion.run(records[:1])
    assert promotion.run(records) == (both.root.digest, ("both",))
    assert tags_of(other) == {"both": both.root.digest}
    assert len(read_back(other, both.root.digest, {}, set())) == 3


def recorded(pushed: PushedImage, platform: str) -> Record:
    [manifest] = images_in(pushed.documents)
    image = PlatformImage(digest=manifest.digest, config="", size=0, layers=())
    name = pushed.image_push.name
    return record(target=name, digest=pushed.root.digest, platforms={platform: image})


@pytest.mark.engine
@pytest.mark.parametrize("platform", ["linux/arm64", "linux/amd64"])
def test_an_engine_gets_the_image_for_its_platform(
    push: Push, repository: Repository, tmp_path: Path, platform: str
) -> None:
    both = push(*parts(tmp_path))[-1].root.digest
    image = engine.pull_digest(str(repository), both, platform, repository.login)
    try:
        details = engine.image_details(image)
        assert f"{details['Os']}/{details['Architecture']}" == platform
    finally:
        engine.remove_name(f"{repository}@{both}")
