# SPDX-License-Identifier: Apache-2.0
"""Changes an image in a registry as somebody does who can write to the registry."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from typing import Any, cast

import requests

from cannery.publish.provenance import encoded
from cannery.registry.image_archive import decompressed
from cannery.registry.oci import MANIFESTS, digest_of

from .small import LAYER, Place


def add_to_last_layer(
    place: Place, tag: str, to: str, path: str, *, in_config: bool = True
) -> None:
    """Put a copy of the image ``tag``, with a program ``path`` in its last layer, under ``to``.

    Without ``in_config``, the config goes on to name the layer that was there.
    """
    manifest = _manifest(place, tag)
    if "manifests" in manifest:
        [digest] = [
            each["digest"]
            for each in manifest["manifests"]
            if each["platform"]["architecture"] != "unknown"
        ]
        manifest = _manifest(place, digest)
    config = json.loads(_blob(place, manifest["config"]["digest"]))
    content = io.BytesIO(_blob(place, manifest["layers"][-1]["digest"]))
    layer = io.BytesIO(decompressed(content, content.read(4)).read())
    with tarfile.open(fileobj=layer, mode="a") as archive:
        member = tarfile.TarInfo(path)
        member.mode = 0o755
        archive.addfile(member)
    if in_config:
        config["rootfs"]["diff_ids"][-1] = digest_of(layer.getvalue())
    blob = place.put_blob(gzip.compress(layer.getvalue(), mtime=0))
    manifest["layers"][-1] = {"mediaType": LAYER, **blob}
    manifest["config"] |= place.put_blob(encoded(config))
    place.put_manifest(manifest, manifest["mediaType"], to)


def _manifest(place: Place, version: str) -> dict[str, Any]:
    url = f"http://{place.host}/v2/{place.repository}/manifests/{version}"
    answer = requests.get(url, headers={"Accept": ", ".join(MANIFESTS)}, timeout=30)
    answer.raise_for_status()
    return cast("dict[str, Any]", answer.json())


def _blob(place: Place, digest: str) -> bytes:
    url = f"http://{place.host}/v2/{place.repository}/blobs/{digest}"
    answer = requests.get(url, timeout=60)
    answer.raise_for_status()
    return answer.content
