# SPDX-License-Identifier: Apache-2.0
"""References, and manifests whose bytes depend on nothing but what is in them."""

from __future__ import annotations

import json

import pytest

from cannery.registry.oci import (
    CONFIG,
    LAYERS,
    Descriptor,
    Document,
    image_index,
    image_manifest,
    manifest_contents,
)
from tests.unit.publications import sha

CONFIG_BLOB = Descriptor(media_type=CONFIG, digest=sha("1"), size=2)
LAYER = Descriptor(media_type=LAYERS["zstd"], digest=sha("2"), size=3)


def test_equal_manifests_are_equal_bytes() -> None:
    one = image_manifest(CONFIG_BLOB, [LAYER], {"a": "1", "b": "é"})
    two = image_manifest(CONFIG_BLOB, [LAYER], {"b": "é", "a": "1"})
    assert one == two
    assert one.digest == two.digest
    assert json.loads(one.content)["layers"] == [
        {"digest": sha("2"), "mediaType": LAYERS["zstd"], "size": 3}
    ]


def test_what_a_manifest_needs() -> None:
    manifest = image_manifest(CONFIG_BLOB, [LAYER], {"a": "1"})
    found = manifest_contents(manifest)
    assert found.blobs == (CONFIG_BLOB, LAYER)
    assert (found.manifests, found.annotations) == ((), {"a": "1"})
    entry = manifest.descriptor("linux/arm64", note="x")
    index = image_index([entry], {})
    assert manifest_contents(index).manifests == (entry,)
    assert manifest_contents(index).manifests[0].annotations == {"note": "x"}
    assert json.loads(index.content)["manifests"][0]["platform"] == {
        "architecture": "arm64",
        "os": "linux",
    }


@pytest.mark.parametrize("text", [b"", b"[]", b'{"layers": [{}]}', b'{"manifests": 3}'])
def test_what_is_no_manifest(text: bytes) -> None:
    with pytest.raises(ValueError, match="is not a manifest"):
        manifest_contents(Document(media_type="", content=text))
