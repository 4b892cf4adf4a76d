# SPDX-License-Identifier: Apache-2.0
"""Images that a registry has already under the immutable tag that a push would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cannery.common.errors import Problem, PublishError
from cannery.image.content_key import LABEL
from cannery.registry.client import Repository
from cannery.registry.oci import ATTESTED, Document, manifest_contents
from cannery.registry.transfer import closure


@dataclass(frozen=True, kw_only=True)
class PublishedImage:
    """The image for one platform in an index that a push has made.

    ``config`` is the digest of its config, ``key`` the content key in its labels, ``content`` as
    ``content_of`` gives it, and ``diff_ids`` as in ``ImagePush``.
    """

    config: str
    key: str
    content: Mapping[str, Any]
    diff_ids: Mapping[str, str]


def read_published(repository: Repository, root: Document, platform: str) -> PublishedImage:
    """The image for ``platform`` in the index ``root``.

    Raises:
        PublishError: ``root`` is not an index of one image, for ``platform``.
    """
    documents = closure(repository, root.digest)
    what = f"{repository.at(root.digest)} has the tag of this image, and no push has made it."
    fix = "Find out who has pushed it, delete the tag in the registry, and push again."
    try:
        [manifest] = images_in(documents)
        entries = manifest_contents(root).manifests
        [_] = [e for e in entries if (e.digest, e.platform) == (manifest.digest, platform)]
        config, *layers = manifest_contents(manifest).blobs
        loaded = repository.read_config(config)
        labels = (loaded.get("config") or {}).get("Labels") or {}
        diff_ids = [str(each) for each in loaded["rootfs"]["diff_ids"]]
        pairs = zip([layer.digest for layer in layers], diff_ids, strict=True)
        return PublishedImage(
            config=config.digest,
            key=str(labels.get(LABEL, "")),
            content=content_of(loaded),
            diff_ids=dict(pairs),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise PublishError(Problem(what=what, fix=fix)) from error


def images_in(documents: Sequence[Document]) -> list[Document]:
    """The manifests of images among ``documents``, the last of which is their index."""
    entries = manifest_contents(documents[-1]).manifests
    images = {entry.digest for entry in entries if entry.platform != ATTESTED}
    return [document for document in documents if document.digest in images]


def content_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of an image's ``config`` that containers see: all but times, history and labels."""
    settings = {k: v for k, v in (config.get("config") or {}).items() if k != "Labels"}
    return {
        "platform": f"{config.get('os')}/{config.get('architecture')}",
        "layers": (config.get("rootfs") or {}).get("diff_ids"),
        "settings": settings,
    }
