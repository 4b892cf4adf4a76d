# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packageurl import PackageURL

from cannery.publish.attestations import (
    SLSA,
    SPDX,
    attestation_manifest,
    encoded,
    index_entry,
    subject_name,
)

SUBJECT = "sha256:" + "ab" * 32
NAME = "pkg:docker/registry.example.com/ascend/images@tag?platform=linux%2Farm64"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


@given(st.dictionaries(st.text(), JSON, max_size=3), st.dictionaries(st.text(), JSON, max_size=3))
def test_a_manifest_names_all_that_it_needs(
    sbom: dict[str, object], provenance: dict[str, object]
) -> None:
    made, documents = attestation_manifest(NAME, SUBJECT, {SPDX: sbom, SLSA: provenance})
    blobs = {digest(each.content): each.content for each in documents}
    manifest = json.loads(made.content)
    config, layers = manifest["config"], manifest["layers"]
    assert {each["digest"] for each in (config, *layers)} == blobs.keys()
    for each in (config, *layers):
        assert each["size"] == len(blobs[each["digest"]])
    kinds = [layer["annotations"]["in-toto.io/predicate-type"] for layer in layers]
    assert kinds == [SPDX, SLSA]
    statements = [json.loads(blobs[layer["digest"]]) for layer in layers]
    assert [statement["predicate"] for statement in statements] == [sbom, provenance]
    for statement in statements:
        assert statement["_type"] == "https://in-toto.io/Statement/v0.1"
        assert statement["subject"] == [{"name": NAME, "digest": {"sha256": "ab" * 32}}]
    rootfs = json.loads(blobs[config["digest"]])["rootfs"]
    assert rootfs["diff_ids"] == [layer["digest"] for layer in layers]

    entry = index_entry(SUBJECT, made).to_json()
    assert entry["digest"] == digest(made.content)
    assert entry["size"] == len(made.content)
    assert entry["annotations"] == {
        "vnd.docker.reference.digest": SUBJECT,
        "vnd.docker.reference.type": "attestation-manifest",
    }
    assert entry["platform"] == {"architecture": "unknown", "os": "unknown"}


@given(JSON)
def test_a_document_is_written_in_one_way(value: object) -> None:
    one = encoded({"a": value, "b": 1})
    assert one == encoded({"b": 1, "a": json.loads(json.dumps(value))})
    assert json.loads(one) == {"a": value, "b": 1}


@pytest.mark.parametrize(
    ("repository", "name"),
    [
        (
            "127.0.0.1:5000/ascend",
            "pkg:docker/127.0.0.1:5000/ascend@t?platform=linux%2Farm64",
        ),
        ("r.example.com/a/b", "pkg:docker/r.example.com/a/b@t?platform=linux%2Farm64"),
    ],
)
def test_the_subject_is_called_as_buildkit_calls_it(repository: str, name: str) -> None:
    made = PackageURL.from_string(subject_name(repository, "t", "linux/arm64"))
    assert made == PackageURL.from_string(name)
