# SPDX-License-Identifier: Apache-2.0
"""References, and manifests whose bytes depend on nothing but what is in them."""

from __future__ import annotations

import json

import pytest

from cannery.common.errors import UsageError
from cannery.registry.oci import (
    CONFIG,
    LAYERS,
    Descriptor,
    Document,
    Reference,
    image_index,
    image_manifest,
    manifest_contents,
    parse_reference,
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


@pytest.mark.parametrize(
    "text",
    [
        "registry.example.com/ascend",
        "registry.example.com:5000/team/ascend:full-1",
        f"localhost/ascend@{sha('a')}",
        f"127.0.0.1:5000/ascend:latest@{sha('a')}",
        "[::1]:5000/ascend:latest",
    ],
)
def test_a_reference_is_read_as_it_is_written(text: str) -> None:
    assert str(parse_reference(text)) == text


def test_a_registry_alone() -> None:
    found = parse_reference("registry.example.com:5000", repository="ascend")
    assert found == Reference(registry="registry.example.com:5000", repository="ascend")
    assert parse_reference("r.example.com/team", repository="ascend").repository == "team/ascend"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ascend:latest", "does not name a registry"),
        ("team/ascend", "does not name a registry"),
        ("https://registry.example.com/ascend", "invalid image reference"),
        ("registry.example.com/Ascend", "invalid image reference"),
        ("registry.example.com/ascend@sha256:12", "invalid image reference"),
        ("registry.example.com", "does not name a repository"),
        ("user:secret@registry.example.com/ascend", "invalid image reference"),
    ],
)
def test_what_is_no_reference(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_reference(text)


def test_a_registry_with_a_tag() -> None:
    with pytest.raises(UsageError, match="has a tag or a digest"):
        parse_reference("registry.example.com/team:latest", repository="ascend")


def test_the_digest_wins() -> None:
    reference = parse_reference(f"registry.example.com/ascend:latest@{sha('a')}")
    assert reference.version == sha("a")
