# SPDX-License-Identifier: Apache-2.0
"""Images as registries store them: manifests and indexes.

Source of the forms: the OCI image specification, 1.1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cannery.common.outside import one_line, parse_json

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYERS = {
    "zstd": "application/vnd.oci.image.layer.v1.tar+zstd",
    "gzip": "application/vnd.oci.image.layer.v1.tar+gzip",
}
"""Compression to the media type of a layer."""

_DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFESTS = (INDEX, MANIFEST, _DOCKER_LIST, _DOCKER_MANIFEST)
"""The media types to accept under a tag or a digest."""

ATTESTED = "unknown/unknown"
"""The platform of index entries that are attestations and not images."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
"""The only form of a digest that is computed here, and so the only one that is accepted."""

LARGEST = 1 << 40
"""The most bytes of what a descriptor names, and of a layer once it is unpacked: 1 TiB."""


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """A reference to a blob or a manifest by its digest; ``size`` is in bytes.

    ``platform`` is as in ``linux/arm64``, or empty.
    """

    media_type: str
    digest: str
    size: int
    platform: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        """The descriptor in the form of a manifest."""
        content: dict[str, Any] = {
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": self.size,
        }
        if self.platform:
            system, architecture = self.platform.split("/")[:2]
            content["platform"] = {"os": system, "architecture": architecture}
        if self.annotations:
            content["annotations"] = dict(self.annotations)
        return content


@dataclass(frozen=True, kw_only=True)
class Document:
    """A manifest or an index, as the exact bytes whose hash is its digest."""

    media_type: str
    content: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.content)

    def descriptor(self, platform: str = "", **annotations: str) -> Descriptor:
        return Descriptor(
            media_type=self.media_type,
            digest=self.digest,
            size=len(self.content),
            platform=platform,
            annotations=annotations,
        )


def digest_of(content: bytes) -> str:
    """The digest of ``content``, as in ``sha256:0123...``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def is_digest(text: str) -> bool:
    """Whether ``text`` is a digest in the form of ``digest_of``."""
    return bool(_DIGEST.fullmatch(text))


def image_manifest(
    config: Descriptor, layers: Iterable[Descriptor], annotations: Mapping[str, str]
) -> Document:
    """The manifest of an image for one platform. Equal arguments give equal bytes."""
    content = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.to_json(),
        "layers": [layer.to_json() for layer in layers],
        "annotations": dict(annotations),
    }
    return document(content)


def image_index(entries: Iterable[Descriptor], annotations: Mapping[str, str]) -> Document:
    """The index that people pull: images for one or more platforms, and their attestations."""
    content = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [entry.to_json() for entry in entries],
        "annotations": dict(annotations),
    }
    return document(content)


def document(content: Mapping[str, Any]) -> Document:
    """``content``, which names its media type; equal contents give equal bytes."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return Document(media_type=str(content["mediaType"]), content=text.encode())


@dataclass(frozen=True, kw_only=True)
class ManifestContents:
    """The references of a manifest: other manifests, and blobs."""

    manifests: tuple[Descriptor, ...]
    blobs: tuple[Descriptor, ...]
    annotations: Mapping[str, str]


def manifest_contents(document: Document) -> ManifestContents:
    """The references of ``document``.

    Raises:
        ValueError: it is not a manifest; or clients may read it in different ways, because it has
            another media type than the registry says, or is both an index and an image.
    """
    try:
        loaded = parse_json(document.content)
        _require_one_meaning(loaded, document.media_type)
        blobs = [*([loaded["config"]] if "config" in loaded else []), *loaded.get("layers", [])]
        return ManifestContents(
            manifests=tuple(_descriptor(entry) for entry in loaded.get("manifests", [])),
            blobs=tuple(map(_descriptor, blobs)),
            annotations={str(k): str(v) for k, v in (loaded.get("annotations") or {}).items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = one_line(str(error)[:200]) or "it has another form"
        raise ValueError(f"{document.digest} is not a manifest: {reason}") from error


def _require_one_meaning(loaded: Mapping[str, Any], media_type: str) -> None:
    kind = loaded.get("mediaType", media_type)
    if kind != media_type:
        raise ValueError(f"it is of the type {kind}, and not {media_type}")
    if "manifests" in loaded and {"config", "layers"} & loaded.keys():
        raise ValueError("it is both an index and an image")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a member is not a text")
    return value


def _descriptor(loaded: Mapping[str, Any]) -> Descriptor:
    platform, digest, size = loaded.get("platform") or {}, _text(loaded["digest"]), loaded["size"]
    if not is_digest(digest):
        raise ValueError(f"it names the digest {digest[:200]!r}, and only sha256 is read")
    if type(size) is not int or not 0 <= size <= LARGEST:
        raise ValueError(
            f"it names a size of {str(size)[:40]} bytes, and {LARGEST:,} are the limit"
        )
    return Descriptor(
        media_type=_text(loaded["mediaType"]),
        digest=digest,
        size=size,
        platform=f"{_text(platform['os'])}/{_text(platform['architecture'])}" if platform else "",
        annotations={
            _text(name): _text(value) for name, value in (loaded.get("annotations") or {}).items()
        },
    )
