# SPDX-License-Identifier: Apache-2.0
"""References to images, ``[REGISTRY/]REPOSITORY[:TAG][@DIGEST]``, and local names.

Sources of the grammar: the OCI distribution specification, 1.1, "Pulling manifests", for
repositories and tags; the Go package distribution/reference, which docker uses, for the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from cannery.common.errors import Problem, UsageError

HUB = "docker.io"
"""The registry of a reference that names none."""

_WORD = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = rf"{_WORD}(/{_WORD})*"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = r"sha256:[0-9a-f]{64}"
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
_REGISTRY = rf"({_LABEL}(\.{_LABEL})*|\[[0-9a-fA-F:]+\])(:[0-9]{{1,5}})?"

_REFERENCE = re.compile(
    rf"((?P<registry>{_REGISTRY})/)?(?P<repository>{_REPOSITORY})"
    rf"(:(?P<tag>{_TAG}))?(@(?P<digest>{_DIGEST}))?"
)
_PLACE = re.compile(
    rf"(?P<registry>{_REGISTRY})(/(?P<repository>{_REPOSITORY}))?"
    rf"(?P<version>(:{_TAG})?(@{_DIGEST})?)"
)
_LOGIN = re.compile(r"(?:(?<=//)|^)[^/@\s]+@")
"""Matches a user name and a password before a host, with or without a scheme."""

_LONGEST = 255
"""The most characters of a registry and a repository together."""


def without_login(address: str) -> str:
    """``address`` with asterisks in place of a user name and a password."""
    return _LOGIN.sub("****@", address)


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The name of an image; ``registry`` is empty if none is named."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def version(self) -> str:
        return self.digest or self.tag

    @property
    def name(self) -> str:
        return f"{self.registry}/{self.repository}" if self.registry else self.repository

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"


def read_reference(text: str) -> Reference | None:
    """``text`` as a reference, or None."""
    match = _REFERENCE.fullmatch(text)
    if not match:
        return None
    registry, repository = match["registry"] or "", match["repository"]
    if registry and not _is_host(registry):
        if not re.fullmatch(_REPOSITORY, registry):
            return None
        registry, repository = "", f"{registry}/{repository}"
    tag, digest = match["tag"] or "", match["digest"] or ""
    reference = Reference(registry=registry, repository=repository, tag=tag, digest=digest)
    return reference if len(reference.name) <= _LONGEST else None


def is_reference(text: str) -> bool:
    """Whether docker accepts ``text`` as an image."""
    return read_reference(text) is not None


def is_versioned(text: str) -> bool:
    """Whether ``text`` has a registry, and a tag or a digest."""
    reference = read_reference(text)
    return bool(reference and reference.registry and reference.version)


def is_repository(text: str) -> bool:
    """Whether ``text`` is the name of a repository in a registry."""
    return len(text) <= _LONGEST and bool(re.fullmatch(_REPOSITORY, text))


def is_tag(text: str) -> bool:
    """Whether ``text`` can be a tag."""
    return bool(re.fullmatch(_TAG, text))


def is_registry(text: str) -> bool:
    """Whether ``text`` is a registry, perhaps with the beginning of a repository's name."""
    match = _PLACE.fullmatch(text)
    return bool(match and not match["version"] and len(text) <= _LONGEST)


def digest_in(text: str) -> str:
    """The digest in the reference ``text``; empty if it has none."""
    reference = read_reference(text)
    return reference.digest if reference else ""


def full_reference(text: str) -> Reference:
    """The reference ``text`` with docker's default registry and folder."""
    reference = read_reference(text)
    if reference is None:
        raise _invalid(text)
    if reference.registry:
        return reference
    folder = "" if "/" in reference.repository else "library/"
    return replace(reference, registry=HUB, repository=folder + reference.repository)


_EXAMPLE = "registry.example.com/ascend or docker.io/me/ascend"


def parse_reference(text: str, *, repository: str = "") -> Reference:
    """``text`` as a reference with a registry; a ``repository`` is appended to ``text``."""
    place = _PLACE.fullmatch(text)
    reference = read_reference(text)
    if not place or (place["repository"] and not reference):
        raise _invalid(text)
    if not _is_host(place["registry"]):
        fix = f"Begin with the registry, as in {_EXAMPLE}."
        raise UsageError(Problem(what=f"{text!r} does not name a registry.", fix=fix))
    if not repository:
        if not (reference and reference.registry):
            fix = f"Add one, as in {text}/ascend."
            raise UsageError(Problem(what=f"{text!r} does not name a repository.", fix=fix))
        return reference
    if place["version"]:
        fix = f"Tags come from publish.yaml: write {place['registry']}."
        raise UsageError(Problem(what=f"{text!r} has a tag or a digest.", fix=fix))
    folder = f"{place['repository']}/" if place["repository"] else ""
    return Reference(registry=place["registry"], repository=folder + repository)


def _invalid(text: str) -> UsageError:
    fix = f"Write a registry and a repository in lower case, as in {_EXAMPLE}."
    return UsageError(Problem(what=f"invalid image reference {without_login(text)!r}.", fix=fix))


def _is_host(name: str) -> bool:
    """Whether docker reads ``name``, the first part of a reference, as a registry."""
    return "." in name or ":" in name or name == "localhost" or name.lower() != name


SIMULATED = "-sim"
"""The end of every tag of a simulated image, here and in a registry."""

TARGET_FIELD = "{target}"
"""Stands for a target's tag in the name of a cache."""

_LOCAL = "cannery"
"""The repository of local images."""


def tag_end(*, simulate: bool) -> str:
    """``-sim`` for a simulated image, else nothing."""
    return SIMULATED if simulate else ""


def image_tag(target_id: str, *, simulate: bool) -> str:
    """The local tag of a target's image, and its tag in a cache."""
    return target_id + tag_end(simulate=simulate)


def image_name(target_id: str, *, simulate: bool) -> str:
    """The local name of a target's image, as in ``cannery:TARGET-sim``."""
    return f"{_LOCAL}:{image_tag(target_id, simulate=simulate)}"


def cache_name(cache: str, tag: str) -> str:
    """The name of the cache of one target in ``cache``, a repository perhaps with a tag."""
    if TARGET_FIELD in cache:
        return cache.replace(TARGET_FIELD, tag)
    repository, _, named = cache.rpartition(":")
    # The colon of a port is before a slash.
    return f"{cache}-{tag}" if repository and "/" not in named else f"{cache}:{tag}"
