# SPDX-License-Identifier: Apache-2.0
"""Images as registries keep them: manifests, indexes, and references to them.

Source of the forms: the OCI image specification, 1.1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cannery.errors import Problem, UsageError
from cannery.image.names import REPOSITORY, TAG

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYERS = {
    "zstd": "application/vnd.oci.image.layer.v1.tar+zstd",
    "gzip": "application/vnd.oci.image.layer.v1.tar+gzip",
}
"""How layers can be compressed, and what each is then called."""

_DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFESTS = (INDEX, MANIFEST, _DOCKER_LIST, _DOCKER_MANIFEST)
"""What a registry is asked for under a tag or a digest."""

_REFERENCE = re.compile(
    r"(?P<registry>[A-Za-z0-9.-]+(:\d+)?|\[[0-9a-fA-F:]+\](:\d+)?)"
    rf"(/(?P<repository>{REPOSITORY}))?"
    rf"(:(?P<tag>{TAG}))?"
    r"(@(?P<digest>sha256:[0-9a-f]{64}))?"
)


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """A blob or a manifest as others speak of it; ``size`` is in bytes.

    ``platform`` is as in ``linux/arm64``; empty where it has none.
    """

    media_type: str
    digest: str
    size: int
    platform: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        """As it stands in a manifest."""
        found: dict[str, Any] = {
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": self.size,
        }
        if self.platform:
            system, architecture = self.platform.split("/")[:2]
            found["platform"] = {"os": system, "architecture": architecture}
        if self.annotations:
            found["annotations"] = dict(self.annotations)
        return found


@dataclass(frozen=True, kw_only=True)
class Document:
    """A manifest or an index: the very bytes, because their hash is its name."""

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
    """What a registry calls ``content``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


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
    """The index that is pulled: images for one or more platforms, and what attests them."""
    content = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [entry.to_json() for entry in entries],
        "annotations": dict(annotations),
    }
    return document(content)


def document(content: Mapping[str, Any]) -> Document:
    """``content``, which names its media type, as bytes that depend on nothing else."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return Document(media_type=str(content["mediaType"]), content=text.encode())


@dataclass(frozen=True, kw_only=True)
class ManifestContents:
    """What a manifest needs beside it: other manifests, and blobs."""

    manifests: tuple[Descriptor, ...]
    blobs: tuple[Descriptor, ...]
    annotations: Mapping[str, str]


def manifest_contents(document: Document) -> ManifestContents:
    """What ``document`` needs beside it.

    Raises:
        ValueError: it is no manifest.
    """
    try:
        loaded = json.loads(document.content)
        blobs = [*([loaded["config"]] if "config" in loaded else []), *loaded.get("layers", [])]
        return ManifestContents(
            manifests=tuple(_descriptor(each) for each in loaded.get("manifests", [])),
            blobs=tuple(_descriptor(each) for each in blobs),
            annotations={str(k): str(v) for k, v in (loaded.get("annotations") or {}).items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{document.digest} is no manifest") from error


def _descriptor(loaded: Mapping[str, Any]) -> Descriptor:
    platform = loaded.get("platform") or {}
    return Descriptor(
        media_type=str(loaded["mediaType"]),
        digest=str(loaded["digest"]),
        size=int(loaded["size"]),
        platform=f"{platform['os']}/{platform['architecture']}" if platform else "",
        annotations=loaded.get("annotations") or {},
    )


@dataclass(frozen=True, kw_only=True)
class Reference:
    """``REGISTRY/REPOSITORY[:TAG][@DIGEST]``; the digest wins over the tag."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def version(self) -> str:
        """What the registry is asked for."""
        return self.digest or self.tag

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.registry}/{self.repository}{tag}{digest}"


def parse_reference(text: str, *, repository: str = "") -> Reference:
    """``text`` as a reference that names its registry.

    With ``repository``, ``text`` is a registry, perhaps with a folder in it, and that follows.

    Raises:
        UsageError: it is none.
    """
    match = _REFERENCE.fullmatch(text)
    if not match or not _is_host(match["registry"]):
        fix = "Begin with the registry, as in registry.example.com/ascend."
        raise UsageError(Problem(what=f"{text!r} is no name in a registry.", fix=fix))
    if not repository:
        if not match["repository"]:
            fix = f"Write as in {text}/ascend."
            raise UsageError(Problem(what=f"{text!r} names no repository.", fix=fix))
        return Reference(
            registry=match["registry"],
            repository=match["repository"],
            tag=match["tag"] or "",
            digest=match["digest"] or "",
        )
    if match["tag"] or match["digest"]:
        fix = f"The tags come from publish.yaml: write {match['registry']}."
        raise UsageError(Problem(what=f"{text!r} is more than a registry.", fix=fix))
    folder = f"{match['repository']}/" if match["repository"] else ""
    return Reference(registry=match["registry"], repository=folder + repository)


def _is_host(name: str) -> bool:
    """Whether docker would take the first part of a reference for a registry."""
    return "." in name or ":" in name or name == "localhost"
