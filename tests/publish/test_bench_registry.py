# SPDX-License-Identifier: Apache-2.0
"""What the bench measures in a registry."""

from __future__ import annotations

import io
import os
from pathlib import Path

from bench.registry import pulled_bytes, registry
from cannery.registry.client import Repository
from cannery.registry.oci import CONFIG, LAYERS, Document, image_index, image_manifest


def test_a_pull_takes_the_layers_and_the_config(tmp_path: Path) -> None:
    contents = {CONFIG: b"{}", LAYERS["gzip"]: os.urandom(1000)}
    with registry(tmp_path) as place:
        repository = Repository(place.address, "bench")
        blobs = []
        for media_type, content in contents.items():
            blobs.append(Document(media_type=media_type, content=content).descriptor())
            repository.put_blob(blobs[-1], lambda content=content: io.BytesIO(content))  # type: ignore[misc]
        image = image_manifest(blobs[0], blobs[1:], {})
        repository.put_manifest("one", image)
        repository.put_manifest("index", image_index([image.descriptor("linux/arm64")], {}))
        expected = {each.digest: each.size for each in blobs}
        assert pulled_bytes(repository, "one") == expected
        assert pulled_bytes(repository, "index") == expected
