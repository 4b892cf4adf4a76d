# SPDX-License-Identifier: Apache-2.0
"""Uploads into a registry that another run writes to at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import pytest

from cannery.common.errors import Problem
from cannery.registry.client import Repository
from cannery.registry.http import RegistryError
from cannery.registry.oci import Descriptor, Document
from cannery.registry.transfer import OciContent, in_memory, upload

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
        assert (kind, digest) == ("blobs", BLOB.digest)
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


def test_a_blob_that_the_registry_has_lost_meanwhile_is_uploaded_again() -> None:
    registry = Racing(400)
    upload(registry, IMAGE)
    assert (registry.stored, registry.written) == (len(b"a layer"), 1)


@pytest.mark.parametrize("answers", [(400, 400), (401,)])
def test_another_refusal_stays_one(answers: tuple[int, ...]) -> None:
    registry = Racing(*answers)
    with pytest.raises(RegistryError, match=str(answers[-1])):
        upload(registry, IMAGE)
    assert registry.written == 0
