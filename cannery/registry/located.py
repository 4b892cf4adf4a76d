# SPDX-License-Identifier: Apache-2.0
"""Finds an image by its digest or its tag in several registries, without pulling it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cannery.common.errors import ArtifactError, EngineError, Problem
from cannery.common.references import parse_reference
from cannery.registry.client import Repository
from cannery.registry.errors import RegistryError
from cannery.registry.http import PATIENCE
from cannery.registry.oci import Document, manifest_contents

_BRIEF = replace(PATIENCE, tries=4)
"""Retries of a registry that may be one of several: about two seconds if nobody answers."""

_ONCE_MORE = replace(PATIENCE, tries=2)
"""Retries of a registry without which a build has a stand-in."""

_FIX = "Check the reference, the network and the login; 'docker login HOST' stores one."


def locate(references: Sequence[str], platform: str, ca: Path | None = None) -> str:
    """The first of ``references`` whose registry has the image for ``platform``.

    All of them have the same digest. ``ca`` is a file of certificates to trust.

    Raises:
        ArtifactError: the image is not for ``platform``.
        EngineError: no registry has it; with the reason of each of them.
    """
    return _first(references, (platform,), ca)[0]


def digest_of_tag(
    references: Sequence[str], platforms: Collection[str], ca: Path | None = None
) -> str:
    """The digest of the first of ``references``, which have a tag, whose registry has the image.

    Raises:
        ArtifactError: the image is not for all of ``platforms``.
        EngineError: no registry has it; with the reason of each of them.
    """
    return _first(references, platforms, ca)[1].digest


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """What a reference names now: ``digest`` is that of the index, ``own`` that of one platform.

    They are equal for an image that is for one platform only, which is not an index.
    """

    digest: str
    own: str


def resolved(reference: str, platform: str, ca: Path | None = None) -> Resolved:
    """What ``reference`` names now, and the image for ``platform`` in it.

    Raises:
        ArtifactError: the image is not for ``platform``.
        UnreachableError: its registry cannot be reached.
        EngineError: its registry does not have it, or refuses.
    """
    place = parse_reference(reference)
    repository = Repository(place.registry, place.repository, ca=ca, patience=_ONCE_MORE)
    document = repository.manifest(place.version)
    if document is None:
        raise EngineError(Problem(what=f"{reference} does not exist.", fix=_FIX))
    _require_platform(repository, document, reference, platform)
    every = manifest_contents(document).manifests
    own = next((each.digest for each in every if each.platform == platform), document.digest)
    return Resolved(digest=document.digest, own=own)


def is_index(references: Sequence[str], platform: str, ca: Path | None = None) -> bool:
    """Whether the digest that ``references`` have is that of an index, with ``platform`` in it.

    Raises:
        ArtifactError: the image is not for ``platform``.
        EngineError: no registry has it; with the reason of each of them.
    """
    return bool(manifest_contents(_first(references, (platform,), ca)[1]).manifests)


def _first(
    references: Sequence[str], platforms: Collection[str], ca: Path | None
) -> tuple[str, Document]:
    problems: list[Problem] = []
    for reference in references:
        try:
            place = parse_reference(reference)
            repository = Repository(place.registry, place.repository, ca=ca, patience=_BRIEF)
            document = repository.manifest(place.version)
            if document is None:
                problems.append(Problem(what=f"{reference} does not exist.", fix=_FIX))
                continue
            for platform in platforms:
                _require_platform(repository, document, reference, platform)
        except RegistryError as error:
            problems += error.problems
        else:
            return reference, document
    raise EngineError(problems)


def _require_platform(
    repository: Repository, document: Document, reference: str, platform: str
) -> None:
    """Raise ArtifactError for an image of another platform, RegistryError for what is none."""
    try:
        found = _platforms(repository, document)
    except (ValueError, LookupError, TypeError) as error:
        what = f"{reference} is not an image that can be read."
        raise RegistryError(Problem(what=what, fix=_FIX)) from error
    if platform not in found:
        listed = ", ".join(sorted(found)) or "no platform"
        what = f"{reference} is for {listed}, and {platform} is needed."
        raise ArtifactError(Problem(what=what, fix=f"Name an image for {platform}."))


def _platforms(repository: Repository, document: Document) -> set[str]:
    """The platforms of an index, or that in the config of a manifest for one platform.

    Raises:
        ValueError, LookupError, TypeError: this is not an image.
    """
    contents = manifest_contents(document)
    if contents.manifests:
        return {each.platform for each in contents.manifests if each.platform}
    config = repository.read_config(contents.blobs[0])
    return {f"{config['os']}/{config['architecture']}"}
