# SPDX-License-Identifier: Apache-2.0
"""Statements about an image, stored beside it in its registry as BuildKit stores its own.

The form is that of docs.docker.com/build/metadata/attestations/attestation-storage: a manifest in
the index of the image, whose layers are in-toto statements. What reads BuildKit's reads these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from packageurl import PackageURL

SPDX = "https://spdx.dev/Document"
SLSA = "https://slsa.dev/provenance/v1"

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
STATEMENT = "application/vnd.in-toto+json"

_TYPE = "https://in-toto.io/Statement/v0.1"
"""The version that BuildKit writes, which every reader of its attestations knows."""

_PREDICATE = "in-toto.io/predicate-type"
_PLATFORM = {"architecture": "unknown", "os": "unknown"}


def encoded(document: Mapping[str, Any]) -> bytes:
    """The bytes of a JSON document of which there is only one way to write it."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def digest_of(content: bytes) -> str:
    """As in ``sha256:0123...``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def subject_name(repository: str, tag: str, platform: str) -> str:
    """What BuildKit calls an image in its statements; ``repository`` has the registry in it."""
    namespace, _, name = repository.rpartition("/")
    url = PackageURL("docker", namespace or None, name, tag, {"platform": platform})
    return url.to_string()


def statement(
    name: str, subject_digest: str, predicate_type: str, predicate: Mapping[str, Any]
) -> dict[str, Any]:
    """``predicate``, said of the image ``name`` whose manifest has ``subject_digest``."""
    algorithm, _, value = subject_digest.partition(":")
    return {
        "_type": _TYPE,
        "subject": [{"name": name, "digest": {algorithm: value}}],
        "predicateType": predicate_type,
        "predicate": dict(predicate),
    }


def attestation_manifest(
    subject_digest: str, statements: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest that holds ``statements``, and what must be in the registry before it.

    The second maps digests to contents: the statements and the manifest's config. The manifest is
    to be stored as ``encoded`` and named in the index by ``index_entry``.

    Raises:
        ValueError: a statement is about something else than ``subject_digest``.
    """
    blobs: dict[str, bytes] = {}
    layers = []
    for each in statements:
        said = {f"{a}:{v}" for one in each["subject"] for a, v in one["digest"].items()}
        if said != {subject_digest}:
            raise ValueError(f"a statement about {sorted(said)}, and not {subject_digest}")
        content = encoded(each)
        digest = digest_of(content)
        blobs[digest] = content
        annotations = {
            "containerd.io/uncompressed": digest,
            _PREDICATE: each["predicateType"],
        }
        layers.append({**_descriptor(STATEMENT, content), "annotations": annotations})
    diff_ids = [layer["digest"] for layer in layers]
    rootfs = {"type": "layers", "diff_ids": diff_ids}
    config = encoded({**_PLATFORM, "config": {}, "rootfs": rootfs})
    blobs[digest_of(config)] = config
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _descriptor(CONFIG, config),
        "layers": layers,
    }
    return manifest, blobs


def index_entry(subject_digest: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What an index says of the attestation manifest ``manifest`` of ``subject_digest``."""
    return {
        **_descriptor(MANIFEST, encoded(manifest)),
        "annotations": {
            "vnd.docker.reference.digest": subject_digest,
            "vnd.docker.reference.type": "attestation-manifest",
        },
        "platform": dict(_PLATFORM),
    }


def _descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}
