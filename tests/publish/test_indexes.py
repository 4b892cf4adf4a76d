# SPDX-License-Identifier: Apache-2.0
"""One tag for several platforms, and an engine that gets the image of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.engine import client as engine
from cannery.publish.policy import Publishing
from cannery.publish.transaction import ImagePush, images_in
from cannery.registry.client import Repository
from cannery.registry.oci import manifest_contents
from cannery.registry.transfer import read_back

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
    assert "both stays as it is: push intel together with the others" in capsys.readouterr().err


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
