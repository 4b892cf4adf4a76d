# SPDX-License-Identifier: Apache-2.0
"""Reads the content keys of published images, without pulling the images."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from cannery.common.errors import Problem, UsageError
from cannery.common.references import parse_reference
from cannery.image.content_key import LABEL
from cannery.registry.client import Repository
from cannery.registry.errors import RegistryError
from cannery.registry.http import PATIENCE
from cannery.registry.oci import Descriptor, Document, manifest_contents

_BRIEF = replace(PATIENCE, tries=4)
"""Retries of a question that somebody waits for: about two seconds if nobody answers."""


@cache
def published_repository(name: str, ca: Path | None) -> Repository:
    """The repository ``name``, as in ``registry.example.com/ascend``, to read keys from.

    ``ca`` is a file of certificates to trust besides those of this machine and its engine.

    Raises:
        UsageError: ``name`` is not a repository with its registry.
        EngineError: ``ca`` cannot be read.
    """
    place = parse_reference(name)
    if place.version:
        what = f"{name!r} has a tag or a digest, and every target has a tag of its own."
        raise UsageError(Problem(what=what, fix=f"Write {place.registry}/{place.repository}."))
    return Repository(place.registry, place.repository, ca=ca, patience=_BRIEF)


def published_key(repository: Repository, tag: str, platform: str) -> str | None:
    """The content key of the image ``tag``; None if the tag does not exist.

    It is empty if the image has no key, or if there is no image for ``platform`` under the tag.

    Raises:
        RegistryError: the registry cannot be reached, is not trusted, asks for a login or denies
            access, or ``tag`` does not name an image.
    """
    document = repository.manifest(tag)
    if document is None:
        return None
    try:
        config = _config(repository, document, platform)
        loaded = repository.read_config(config) if config else {}
        labels = (loaded.get("config") or {}).get("Labels") or {}
        return str(labels.get(LABEL, ""))
    except (ValueError, LookupError, AttributeError) as error:
        what = f"{repository.at(tag)} is not an image that can be read."
        fix = "Check the name; if it is right, push the image again."
        raise RegistryError(Problem(what=what, fix=fix)) from error


def _config(repository: Repository, document: Document, platform: str) -> Descriptor | None:
    """The config of the image for ``platform`` in a manifest or an index; None without such one.

    Raises:
        ValueError, LookupError: this is not an image.
    """
    contents = manifest_contents(document)
    if contents.manifests:
        entry = next((each for each in contents.manifests if each.platform == platform), None)
        if entry is None:
            return None
        inner = repository.manifest(entry.digest)
        if inner is None:
            raise LookupError(entry.digest)
        contents = manifest_contents(inner)
    return contents.blobs[0]
