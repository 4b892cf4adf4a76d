# SPDX-License-Identifier: Apache-2.0
"""Attestations: statements about an image, stored in its index as BuildKit stores its own.

The form is that of docs.docker.com/build/metadata/attestations/attestation-storage: a manifest in
the index of the image, whose layers are in-toto statements. Readers of BuildKit's can read these.
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
"""The version that BuildKit writes, so every reader of its attestations knows it."""

_PREDICATE = "in-toto.io/predicate-type"
_PLATFORM = {"architecture": "unknown", "os": "unknown"}


def encoded(document: Mapping[str, Any]) -> bytes:
    """``document`` as JSON; equal documents give equal bytes."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def digest_of(content: bytes) -> str:
    """The digest of ``content``, as in ``sha256:0123...``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def subject_name(repository: str, tag: str, platform: str) -> str:
    """The name of an image in a statement, as BuildKit writes it.

    ``repository`` includes the registry.
    """
    namespace, _, name = repository.rpartition("/")
    url = PackageURL("docker", namespace or None, name, tag, {"platform": platform})
    return url.to_string()


def statement(
    name: str, subject_digest: str, predicate_type: str, predicate: Mapping[str, Any]
) -> dict[str, Any]:
    """The statement that the image ``name``, manifest ``subject_digest``, has ``predicate``."""
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
    """The manifest that holds ``statements``, and its blobs: digest to content.

    The manifest has to be stored as ``encoded``, after its blobs, and its index entry is
    ``index_entry``.

    Raises:
        ValueError: a statement is about another image than ``subject_digest``.
    """
    blobs: dict[str, bytes] = {}
    layers = []
    for each in statements:
        said = {f"{a}:{v}" for one in each["subject"] for a, v in one["digest"].items()}
        if said != {subject_digest}:
            raise ValueError(f"a statement is about {sorted(said)} and not about {subject_digest}")
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
    """The entry in an index for the attestation manifest ``manifest`` of ``subject_digest``."""
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
