# SPDX-License-Identifier: Apache-2.0
"""An image is looked for in several registries by its digest, before anything is pulled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.errors import ArtifactError, EngineError
from cannery.registry import client
from cannery.registry.client import locate

from .conftest import HURRIED
from .servers import Server, free_port, registry
from .small import Place, put_image, put_index

ABSENT = "sha256:" + "00" * 32


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RETRIES", HURRIED)


@pytest.fixture
def open_server(tmp_path: Path) -> Iterator[Server]:
    with registry(tmp_path / "open") as found:
        yield found


@pytest.fixture
def place(open_server: Server) -> Place:
    return Place(host=open_server.host, repository="ascend/cann")


def closed() -> str:
    """A registry that nobody serves."""
    return f"127.0.0.1:{free_port()}"


def test_the_first_registry_that_has_it(place: Place) -> None:
    digest = put_image(place, "CANN")["digest"]
    there = f"{place.name}@{digest}"
    others = [f"{closed()}/ascend/cann@{digest}", f"{place.host}/other@{digest}"]
    assert locate([*others, there], ["linux/arm64"]).reference == there
    assert locate([there, *others], ["linux/arm64"]).reference == there


def test_an_index_of_several_platforms(place: Place) -> None:
    digest = put_index(place, put_image(place, "CANN"), {}, "9.1.0")
    there = f"{place.name}:9.1.0@{digest}"
    assert locate([there], ["linux/arm64"]).reference == there
    with pytest.raises(ArtifactError, match="is for linux/arm64, and linux/amd64 is needed"):
        locate([there], ["linux/amd64"])


def test_the_digest_of_a_tag(place: Place) -> None:
    digest = put_index(place, put_image(place, "base"), {}, "22.04")
    there, missing = f"{place.name}:22.04", f"{place.name}:24.04"
    assert locate([missing, there], ["linux/arm64"]).digest == digest
    with pytest.raises(ArtifactError, match="is for linux/arm64, and linux/amd64 is needed"):
        locate([there], ["linux/arm64", "linux/amd64"])
    with pytest.raises(EngineError, match=r"24\.04 does not exist"):
        locate([missing], ["linux/arm64"])


def test_where_none_has_it_each_reason_is_told(place: Place) -> None:
    none, gone = f"{place.name}@{ABSENT}", f"{closed()}/ascend/cann@{ABSENT}"
    with pytest.raises(EngineError) as caught:
        locate([gone, none], ["linux/arm64"])
    first, second = map(str, caught.value.problems)
    assert "cannot be reached" in first
    assert second.startswith(f"{none} does not exist.")


def test_a_manifest_with_other_bytes_is_not_believed(place: Place, open_server: Server) -> None:
    digest = put_image(place, "CANN")["digest"]
    stored = open_server.folder / "data/docker/registry/v2/blobs/sha256"
    blob = stored / digest[7:9] / digest[7:] / "data"
    blob.write_text(blob.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(EngineError):
        locate([f"{place.name}@{digest}"], ["linux/arm64"])


def test_what_is_no_image_is_refused(place: Place) -> None:
    kind = "application/vnd.oci.image.manifest.v1+json"
    config = {"mediaType": "application/x", **place.put_blob(json.dumps([]).encode())}
    manifest = {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": []}
    digest = place.put_manifest(manifest, kind)
    with pytest.raises(EngineError, match=f"the config {config['digest']} of .* is not an object"):
        locate([f"{place.name}@{digest}"], ["linux/arm64"])
