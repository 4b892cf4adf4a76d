# SPDX-License-Identifier: Apache-2.0
"""A small image with attestations, put into a real registry."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

from cannery.publish.attestations import attestation_manifest, encoded, index_entry, subject_name
from cannery.registry.client import Repository
from cannery.registry.oci import (
    CONFIG,
    LAYERS,
    Descriptor,
    Document,
    digest_of,
    image_index,
    image_manifest,
)
from cannery.registry.transfer import OciContent, in_memory, upload
from tests.unit.archives import tar

PLATFORM = "linux/arm64"


def put_image(repository: Repository, text: str) -> Descriptor:
    """Push an image of one file that holds ``text``; its entry in an index."""
    plain = tar({"hello": text.encode()})
    rootfs = {"type": "layers", "diff_ids": [digest_of(plain)]}
    settings = {"architecture": "arm64", "os": "linux", "config": {"Labels": {}}, "rootfs": rootfs}
    config = Document(media_type=CONFIG, content=encoded(settings))
    layer = Document(media_type=LAYERS["gzip"], content=gzip.compress(plain, mtime=0))
    manifest = image_manifest(config.descriptor(), [layer.descriptor()], {})
    blobs = in_memory(config, layer)
    upload(repository, OciContent(name=text, blobs=blobs, documents=(manifest,)))
    return manifest.descriptor(PLATFORM)


def put_index(
    repository: Repository,
    image: Descriptor,
    predicates: Mapping[str, Mapping[str, Any]],
    tag: str,
) -> str:
    """Push an index of ``image`` and the ``predicates`` of it, by type; its digest."""
    entries = [image]
    if predicates:
        name = subject_name(str(repository), tag, PLATFORM)
        manifest, blobs = attestation_manifest(name, image.digest, predicates)
        content = OciContent(name=tag, blobs=in_memory(*blobs), documents=(manifest,))
        upload(repository, content)
        entries.append(index_entry(image.digest, manifest))
    return repository.put_manifest(tag, image_index(entries, {}))
