# SPDX-License-Identifier: Apache-2.0
"""The whole push of a small checkout into a real registry; the engine is a stand-in.

What a real engine does of it is in test_end_to_end; here it hands out small images.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cannery.building.planning import make_plan
from cannery.common.errors import CanneryError, EngineError, PublishError, VerificationError
from cannery.engine import client as engine
from cannery.options import PlanOptions
from cannery.publish.cosign import PASSWORD, connection, verify
from cannery.registry.client import Repository
from cannery.registry.oci import manifest_contents
from cannery.registry.records import read_records
from tests.unit.world import BOTH, make_world

from .checkouts import COPIED, Place, built_place
from .conftest import HURRIED, Login
from .keys import SECRET, make_pair
from .servers import Authority, Between, Fault, between, registry


@pytest.fixture
def place(tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Place:
    return built_place(make_world(tmp_path, monkeypatch), repository, monkeypatch)


def test_images_statements_tags_and_records(place: Place) -> None:
    full, bare = place.push(BOTH)
    records = {each.target: each for each in read_records(place.releases)}
    release = records["full"]
    key = release.key.removeprefix("sha256:")[:12]
    assert (release.tag, release.tags, release.digest) == (f"full-{key}", ("full", "latest"), full)
    assert place.tags() == {
        **dict.fromkeys((f"full-{key}", "full", "latest"), full),
        **dict.fromkeys((records["bare"].tag, "bare"), bare),
    }
    assert place.tried == [("full", "sha256:pulled"), ("bare", "sha256:pulled")]
    assert place.gone == [f"{place.repository}@{full}", f"{place.repository}@{bare}"]
    [image] = release.platforms.values()
    assert place.repository.resolve(image.digest) == image.digest
    assert len(image.layers) == 1 + COPIED
    assert image.layers[0].name == "base"
    assert [each.passed for each in release.verified] == [1]
    assert release.packages["wheels"] == {"torch": "2.3.1"}
    assert release.changes.since == ""


def test_the_statements_are_in_the_index(place: Place) -> None:
    [digest] = place.push()
    root = place.repository.manifest(digest)
    assert root
    image, statements = manifest_contents(root).manifests
    assert image.platform == "linux/arm64"
    assert statements.annotations["vnd.docker.reference.digest"] == image.digest
    document = place.repository.manifest(statements.digest)
    assert document
    [release] = read_records(place.releases)
    stored = {blob.digest for blob in manifest_contents(document).blobs}
    assert {*release.attestations} == {"sbom", "provenance"}
    assert {*release.attestations.values()} < stored


def test_a_push_with_a_key_signs_the_image(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = make_pair(tmp_path / "keys")
    monkeypatch.setenv(PASSWORD, "another")
    with pytest.raises(EngineError, match="is not the one of") as caught:
        place.push(signing_key=pair.private)
    assert caught.value.problems[-1].what == "This run moved no tag."
    assert place.tags() == {}
    assert read_records(place.releases) == ()
    monkeypatch.setenv(PASSWORD, SECRET)
    [digest] = place.push(signing_key=pair.private)
    options = connection(place.repository)
    verify(place.repository.at(digest), pair.public, options)
    [release] = read_records(place.releases)
    assert release.signed


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
    [release] = read_records(place.releases)
    assert {each.digest for each in release.platforms["linux/arm64"].layers} == {
        each["digest"] for each in json.loads(text)["platforms"]["linux/arm64"]["layers"]
    }


def without_its_tags(place: Place) -> str:
    """Push, and remove the tags, as of a push that was killed before they moved; the digest."""
    [digest] = place.push()
    assert place.repository.delete(digest)
    assert place.tags() == {}
    place.commit()
    return digest


def test_a_new_push_replaces_the_record_of_a_push_without_tags(place: Place) -> None:
    lost = without_its_tags(place)
    [again] = place.push(compression="gzip")
    assert again != lost
    [release] = read_records(place.releases)
    assert release.digest == again == place.tags()["full"]
    assert release.changes.since == ""


def test_a_fault_restores_the_earlier_record(place: Place, line: Between) -> None:
    lost = without_its_tags(place)
    line.faults.append(Fault("^PUT .*/manifests/latest", status=500))
    with pytest.raises(CanneryError):
        place.push(compression="gzip")
    line.faults.clear()
    assert place.tags() == {}
    [release] = read_records(place.releases)
    assert release.digest == lost


def test_a_push_to_a_second_registry_has_a_record_of_its_own(
    place: Place, tmp_path: Path, authority: Authority, login: Login
) -> None:
    first, [here] = place.repository.host, place.push()
    place.commit()
    with (
        registry(tmp_path / "second", login=True) as server,
        between(server, authority, tmp_path / "line") as line,
    ):
        login(line.host)
        place.repository = Repository(line.host, "ascend", ca=authority.file, retries=HURRIED)
        [there] = place.push()
        place.commit()
        written = read_records(place.releases)
        assert {each.registry: each.digest for each in written} == {
            first: here,
            line.host: there,
        }
        assert len({each.tag for each in written}) == 1
        assert place.push() == [there]
        assert read_records(place.releases) == written


def test_a_pulled_image_with_a_failed_check_moves_no_tag(place: Place) -> None:
    place.fails = True
    with pytest.raises(VerificationError) as caught:
        place.push(BOTH)
    assert str(caught.value.problems[-1]) == "This run moved no tag."
    assert place.tags() == {}
    assert not place.releases.exists()
    assert len(place.gone) == 1


def test_a_refusal_asks_nothing_of_the_network(place: Place, line: Between) -> None:
    place.world.run(["full"], force=True, test=False)
    line.seen.clear()
    with pytest.raises(PublishError, match="--allow unverified"):
        place.push()
    assert line.seen == []
    place.push(allow=["unverified"])
    [release] = read_records(place.releases)
    assert release.verified == ()


def test_a_plan_shows_the_state_of_published_images(place: Place) -> None:
    def published() -> dict[str, str]:
        world = place.world
        options = world.options(ca=place.repository.ca)
        wanted = PlanOptions(compare_with=str(place.repository))
        plan = make_plan(world.checkout.project, world.selection(BOTH), options, wanted)
        return {step.id: step.published for step in plan.steps}

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
