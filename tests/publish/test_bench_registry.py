# SPDX-License-Identifier: Apache-2.0
"""What the bench measures in a registry."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from bench import figures_scale
from bench.registry import pulled_bytes, registry
from cannery.common.errors import CanneryError
from cannery.matrix.project import Project
from cannery.registry.client import Repository
from cannery.registry.oci import CONFIG, LAYERS, Document, image_index, image_manifest
from tests.unit.matrices import CHECKOUT


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


def test_prune_is_measured_with_more_and_more_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures_scale, "TAGS", (2, 5))
    found = {figure.key: figure for figure in figures_scale.prune(Project(root=CHECKOUT))}
    assert [*found] == [f"scale-prune{end}" for end in ("", "-memory", "-growth", "-memory-growth")]
    assert found["scale-prune"].title == "build.py prune with 5 tags: time of the processor"
    assert [*found["scale-prune"].detail["seconds"]] == ["2", "5"]
    assert found["scale-prune-memory"].ours.median > 10**7


def test_a_command_that_fails_is_not_measured() -> None:
    with pytest.raises(CanneryError, match=r"prune' failed \(2\)"):
        figures_scale.used(Project(root=CHECKOUT), ["prune"])
