# SPDX-License-Identifier: Apache-2.0
"""Images that are to be built again, as a registry has them, and what may be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cannery.common.errors import CanneryError, EngineError, UsageError
from cannery.image.content_key import LABEL
from cannery.image.record import origin_labels
from cannery.matrix.project import Project
from cannery.publish import originals
from cannery.publish.originals import Original, find_original
from cannery.registry.client import Repository
from cannery.registry.oci import INDEX
from tests.unit.publications import IMAGE, keep, record, sha

from .conftest import HURRIED
from .servers import free_port, registry
from .small import Place, put_image, put_index
from .tampered import add_to_last_layer

KEY = "sha256:" + "0123456789abcdef" * 4
COMMIT = "c" * 40
LABELS = {
    **origin_labels(key=KEY, commit=COMMIT, origin="", created="2026-11-21T12:00:00Z"),
    "io.cannery.target": "full",
    "io.cannery.simulated": "true",
    LABEL: KEY,
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with registry(tmp_path / "open") as found:
        yield Place(host=found.host, repository="ascend")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "Repository", partial(Repository, patience=HURRIED))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(root=tmp_path)


def found(project: Project, name: str) -> Original:
    return find_original(project, name, None)


def test_an_image_and_its_attestations(project: Project, place: Place) -> None:
    put_index(place, put_image(place, "text", LABELS), {"https://slsa.dev": {}}, "full")
    original = found(project, f"{place.name}:full")
    assert (original.target, original.platform) == ("full", "linux/arm64")
    assert (original.simulated, original.commit, original.key) == (True, COMMIT, KEY)
    layers = original.layers()
    [layer] = layers.digests
    assert [*layers.files({layer})[layer]] == ["hello"]
    assert layers.notes == []


def test_a_layer_is_known_by_what_is_in_it(project: Project, place: Place) -> None:
    """The config of an image is not believed."""
    digest = put_image(place, "text", LABELS)["digest"]
    before = found(project, f"{place.name}@{digest}").layers()
    add_to_last_layer(place, digest, "tampered", "bin/planted", in_config=False)
    after = found(project, f"{place.name}:tampered").layers()
    assert before.digests != after.digests
    assert after.notes == ["The config of the image does not match these of its layers: 1."]


def test_a_layer_that_is_damaged_is_named(project: Project, place: Place, tmp_path: Path) -> None:
    digest = put_image(place, "text", LABELS)["digest"]
    for path in (tmp_path / "open" / "data").rglob("data"):
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(EngineError, match=r"ascend@.*, layer 1 of 1: .*sha256:"):
        found(project, f"{place.name}@{digest}").layers()


def test_a_record_is_believed_and_its_image_has_the_files(project: Project, place: Place) -> None:
    image = put_image(place, "text", LABELS)
    [layer] = found(project, f"{place.name}@{image['digest']}").layers().digests
    stored = replace(IMAGE, digest=image["digest"])
    each = record(
        registry=place.host, repository=place.repository, platforms={"linux/arm64": stored}
    )
    original = found(project, str(keep(project.releases, each)))
    layers = original.layers()
    assert layers.digests == [sha("5")]
    assert (original.target, original.commit, original.key) == ("full", COMMIT, each.key)
    assert [*layers.files({layer})] == [layer]
    assert layers.files({sha("5")}) == {}


def test_several_platforms_are_told_by_digest(project: Project, place: Place) -> None:
    arm = put_image(place, "arm", LABELS)
    intel = put_image(place, "intel", LABELS)
    intel["platform"] = {"architecture": "amd64", "os": "linux"}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [arm, intel]}
    place.put_manifest(index, INDEX, "both")
    with pytest.raises(UsageError, match=r"has 2 images\. Name one of them: ") as caught:
        found(project, f"{place.name}:both")
    assert f"{place.name}@{arm['digest']} (linux/arm64)" in str(caught.value)


def test_names_that_mean_no_image(project: Project, place: Place) -> None:
    other = put_image(place, "text")["digest"]
    wrong = {
        f"{place.name}:none": f"{place.name}:none does not exist. Check the reference",
        place.name: "has neither a tag nor a digest. Add the tag",
        f"{place.name}@{other}": "is not an image of this project: it has no label",
        "team/ascend:full": "does not name a registry. Begin with the registry",
        f"{place.host}/Ascend:full": "invalid image reference",
        "releases/full/none.json": "there is no record releases/full/none.json",
        f"127.0.0.1:{free_port()}/ascend:full": "cannot be reached",
    }
    for name, said in wrong.items():
        with pytest.raises(CanneryError) as caught:
            found(project, name)
        assert said in str(caught.value)
