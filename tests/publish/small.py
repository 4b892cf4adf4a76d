# SPDX-License-Identifier: Apache-2.0
"""A small image with statements about it, put into a real registry by nothing but HTTP."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import requests

from cannery.publish.attestations import (
    attestation_manifest,
    encoded,
    index_entry,
    subject_name,
)
from cannery.registry.oci import CONFIG, INDEX, MANIFEST, digest_of

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
PLATFORM = {"architecture": "arm64", "os": "linux"}


@dataclass(frozen=True, kw_only=True)
class Place:
    """A repository in a registry that speaks HTTP; ``login`` is a user with a password."""

    host: str
    repository: str
    login: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return f"{self.host}/{self.repository}"

    def put_blob(self, content: bytes) -> dict[str, Any]:
        base = f"http://{self.host}/v2/{self.repository}/blobs/uploads/"
        begun = requests.post(base, auth=self.login, timeout=30)
        begun.raise_for_status()
        digest = digest_of(content)
        more = {"digest": digest}
        done = requests.put(
            begun.headers["Location"], data=content, params=more, auth=self.login, timeout=30
        )
        done.raise_for_status()
        return {"digest": digest, "size": len(content)}

    def put_manifest(self, document: Mapping[str, Any], media_type: str, version: str = "") -> str:
        content = encoded(document)
        digest = digest_of(content)
        done = requests.put(
            f"http://{self.host}/v2/{self.repository}/manifests/{version or digest}",
            data=content,
            headers={"Content-Type": media_type},
            auth=self.login,
            timeout=30,
        )
        done.raise_for_status()
        assert done.headers["Docker-Content-Digest"] == digest
        return digest


def put_image(place: Place, text: str) -> dict[str, Any]:
    """Push an image of one file that holds ``text``; what an index says of it."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("hello")
        member.size = len(text.encode())
        archive.addfile(member, io.BytesIO(text.encode()))
    layer = {"mediaType": LAYER, **place.put_blob(gzip.compress(stream.getvalue(), mtime=0))}
    rootfs = {"type": "layers", "diff_ids": [digest_of(stream.getvalue())]}
    config = encoded({**PLATFORM, "config": {"Labels": {}}, "rootfs": rootfs})
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, **place.put_blob(config)},
        "layers": [layer],
    }
    digest = place.put_manifest(manifest, MANIFEST)
    size = len(encoded(manifest))
    return {"mediaType": MANIFEST, "digest": digest, "size": size, "platform": PLATFORM}


def put_index(
    place: Place,
    image: Mapping[str, Any],
    said: Mapping[str, Mapping[str, Any]],
    tag: str,
) -> str:
    """Push an index of ``image`` and the predicates ``said`` of it, by type; its digest."""
    name = subject_name(place.name, tag, "linux/arm64")
    entries: Sequence[Mapping[str, Any]] = [image]
    if said:
        manifest, blobs = attestation_manifest(name, image["digest"], said)
        for blob in blobs:
            place.put_blob(blob.content)
        place.put_manifest(json.loads(manifest.content), MANIFEST)
        entries = [image, index_entry(image["digest"], manifest).to_json()]
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
    return place.put_manifest(index, INDEX, tag)
