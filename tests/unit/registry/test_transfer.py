# SPDX-License-Identifier: Apache-2.0
"""Manifests, and uploads into a registry that another run writes to at the same time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import BinaryIO

import pytest

from cannery.common.errors import Problem
from cannery.registry.client import Repository
from cannery.registry.http import RegistryError
from cannery.registry.oci import (
    CONFIG,
    LAYERS,
    Descriptor,
    Document,
    image_index,
    image_manifest,
    manifest_contents,
)
from cannery.registry.transfer import OciContent, in_memory, upload
from tests.unit.publications import sha

CONFIG_BLOB = Descriptor(media_type=CONFIG, digest=sha("1"), size=2)
LAYER = Descriptor(media_type=LAYERS["zstd"], digest=sha("2"), size=3)


def test_references_of_a_manifest() -> None:
    manifest = image_manifest(CONFIG_BLOB, [LAYER], {"a": "1"})
    result = manifest_contents(manifest)
    assert result.blobs == (CONFIG_BLOB, LAYER)
    assert (result.manifests, result.annotations) == ((), {"a": "1"})
    entry = manifest.descriptor("linux/arm64", note="x")
    index = image_index([entry], {})
    assert manifest_contents(index).manifests == (entry,)
    assert manifest_contents(index).manifests[0].annotations == {"note": "x"}
    assert json.loads(index.content)["manifests"][0]["platform"] == {
        "architecture": "arm64",
        "os": "linux",
    }


@pytest.mark.parametrize("text", [b"", b"[]", b'{"layers": [{}]}', b'{"manifests": 3}'])
def test_invalid_manifests(text: bytes) -> None:
    with pytest.raises(ValueError, match="is not a manifest"):
        manifest_contents(Document(media_type="", content=text))


BLOBS = in_memory(Document(media_type="application/octet-stream", content=b"a layer"))
[BLOB] = BLOBS
IMAGE = OciContent(
    name="tiny", blobs=BLOBS, documents=(Document(media_type="manifest", content=b"{}"),)
)


class Racing(Repository):
    """Says at first that it has a blob, and refuses the first manifests with ``answers``."""

    def __init__(self, *answers: int) -> None:
        super().__init__("r.example", "tiny")
        self.answers = [*answers]
        self.asked, self.stored, self.written = 0, 0, 0

    def has(self, kind: str, digest: str) -> bool:
        if kind == "manifests":
            return False
        assert digest == BLOB.digest
        self.asked += 1
        return self.asked == 1 or bool(self.stored)

    def put_blob(
        self, blob: Descriptor, content: Callable[[], BinaryIO], *, mount: str = ""
    ) -> None:
        assert (blob.digest, mount) == (BLOB.digest, "")
        self.stored += len(content().read())

    def put_manifest(self, version: str, document: Document) -> str:
        assert document == IMAGE.root
        if self.answers and (status := self.answers.pop(0)):
            raise RegistryError(Problem(what=f"{status} blob unknown"), status=status)
        self.written += 1
        return version


def test_a_blob_lost_by_the_registry_is_uploaded_again() -> None:
    registry = Racing(400)
    upload(registry, IMAGE)
    assert (registry.stored, registry.written) == (len(b"a layer"), 1)


@pytest.mark.parametrize("answers", [(400, 400), (401,)])
def test_another_refusal_stays_one(answers: tuple[int, ...]) -> None:
    registry = Racing(*answers)
    with pytest.raises(RegistryError, match=str(answers[-1])):
        upload(registry, IMAGE)
    assert registry.written == 0
