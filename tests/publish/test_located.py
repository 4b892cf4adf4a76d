# SPDX-License-Identifier: Apache-2.0
"""An image is looked for in several registries by its digest, before anything is pulled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cannery.common.errors import ArtifactError, EngineError
from cannery.registry import client
from cannery.registry.client import Repository, locate
from cannery.registry.oci import Document, image_manifest
from cannery.registry.transfer import OciContent, in_memory, upload

from .conftest import HURRIED
from .servers import Server, free_port, registry
from .small import put_image, put_index

ABSENT = "sha256:" + "00" * 32


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RETRIES", HURRIED)


@pytest.fixture
def open_server(tmp_path: Path) -> Iterator[Server]:
    with registry(tmp_path / "open") as result:
        yield result


@pytest.fixture
def place(open_server: Server) -> Repository:
    return Repository(open_server.host, "ascend/cann", retries=HURRIED)


def closed() -> str:
    """A registry that nobody serves."""
    return f"127.0.0.1:{free_port()}"


def test_the_first_registry_with_cann_is_used(place: Repository) -> None:
    digest = put_image(place, "CANN").digest
    there = f"{place}@{digest}"
    others = [f"{closed()}/ascend/cann@{digest}", f"{place.host}/other@{digest}"]
    assert locate([*others, there], ["linux/arm64"]).reference == there
    assert locate([there, *others], ["linux/arm64"]).reference == there


def test_an_index_of_several_platforms(place: Repository) -> None:
    digest = put_index(place, put_image(place, "CANN"), {}, "9.1.0")
    there = f"{place}:9.1.0@{digest}"
    assert locate([there], ["linux/arm64"]).reference == there
    with pytest.raises(ArtifactError, match="is for linux/arm64, and linux/amd64 is needed"):
        locate([there], ["linux/amd64"])


def test_the_digest_of_a_tag(place: Repository) -> None:
    digest = put_index(place, put_image(place, "base"), {}, "22.04")
    there, missing = f"{place}:22.04", f"{place}:24.04"
    assert locate([missing, there], ["linux/arm64"]).digest == digest
    with pytest.raises(ArtifactError, match="is for linux/arm64, and linux/amd64 is needed"):
        locate([there], ["linux/arm64", "linux/amd64"])
    with pytest.raises(EngineError, match=r"24\.04 does not exist"):
        locate([missing], ["linux/arm64"])


def test_an_image_in_no_registry_has_every_reason(place: Repository) -> None:
    none, gone = f"{place}@{ABSENT}", f"{closed()}/ascend/cann@{ABSENT}"
    with pytest.raises(EngineError) as caught:
        locate([gone, none], ["linux/arm64"])
    first, second = map(str, caught.value.problems)
    assert "cannot be reached" in first
    assert second.startswith(f"{none} does not exist.")


def test_a_manifest_with_other_bytes_is_refused(place: Repository, open_server: Server) -> None:
    digest = put_image(place, "CANN").digest
    stored = open_server.folder / "data/docker/registry/v2/blobs/sha256"
    blob = stored / digest[7:9] / digest[7:] / "data"
    blob.write_text(blob.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(EngineError):
        locate([f"{place}@{digest}"], ["linux/arm64"])


def test_no_image_is_refused(place: Repository) -> None:
    config = Document(media_type="application/x", content=b"[]")
    manifest = image_manifest(config.descriptor(), [], {})
    blobs = in_memory(config)
    upload(place, OciContent(name="no image", blobs=blobs, documents=(manifest,)))
    with pytest.raises(EngineError, match=f"the config {config.digest} of .* is not an object"):
        locate([place.at(manifest.digest)], ["linux/arm64"])
