# SPDX-License-Identifier: Apache-2.0
"""A repository in a registry: its tags, its manifests and its blobs; images in several of them.

Source of the protocol: the OCI distribution specification, 1.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlencode

import requests

from cannery.common.errors import ArtifactError, EngineError, Problem
from cannery.common.http import LONGEST, RetryPolicy, in_time
from cannery.common.outside import MOST_CONFIG, parse_json
from cannery.common.references import is_tag, parse_reference
from cannery.registry.http import RETRIES, Http, RegistryError, explanation, storage_is_full
from cannery.registry.oci import MANIFESTS, Descriptor, Document, manifest_contents

T = TypeVar("T")

_CHUNK = 1 << 20
_LARGEST_MANIFEST = 4 << 20
"""Bytes; the limit of the specification."""

_PAGES = 1000
"""The most pages of tags; 1,000 tags are requested for each."""

_SLOWEST = 1 << 14
"""The bytes a second, on average, that a blob needs at least after the first minutes."""

NOT_DELETABLE = (400, 405)
"""The status of a registry that does not allow deletion, or no deletion of tags."""


class Repository:
    """One repository. Every method raises RegistryError if the registry refuses or fails."""

    def __init__(
        self, host: str, name: str, *, ca: Path | None = None, retries: RetryPolicy = RETRIES
    ) -> None:
        self.host = host
        self.name = name
        self.ca = ca
        self._http = Http(host, ca=ca, retries=retries)

    def __str__(self) -> str:
        return f"{self.host}/{self.name}"

    @property
    def login(self) -> tuple[str, str]:
        """The user's name and password for the engine's pull; empty without a login."""
        return self._http.login

    def resolve(self, version: str) -> str:
        """The digest of ``version``, a tag or a digest; empty if it does not exist."""
        accept = {"Accept": ", ".join(MANIFESTS)}
        response = self._http.request("HEAD", self._path("manifests", version), headers=accept)
        if response.status_code == requests.codes.not_found:
            return ""
        self._expect(response, f"{self.at(version)} cannot be looked up", 200)
        digest = str(response.headers.get("Docker-Content-Digest", ""))
        if not digest:
            # The header is optional.
            document = self.manifest(version)
            return document.digest if document else ""
        return digest

    def manifest(self, version: str) -> Document | None:
        """The manifest or index of ``version``, a tag or a digest; None if it does not exist."""
        accept = {"Accept": ", ".join(MANIFESTS)}
        path = self._path("manifests", version)
        response = self._http.request("GET", path, headers=accept)
        if response.status_code == requests.codes.not_found:
            return None
        self._expect(response, f"{self.at(version)} cannot be read", 200)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
        document = Document(media_type=kind, content=response.content)
        if version.startswith("sha256:") and document.digest != version:
            raise self._error(f"{self.at(version)} does not match its digest.")
        return document

    def put_manifest(self, version: str, document: Document) -> str:
        """Store ``document`` under ``version``, a tag or its digest.

        Returns the digest of the stored bytes, which differs if they were changed on the way.
        """
        assert len(document.content) <= _LARGEST_MANIFEST
        response = self._http.request(
            "PUT",
            self._path("manifests", version),
            body=document.content,
            headers={"Content-Type": document.media_type},
        )
        self._expect(response, f"{self.at(version)} cannot be written", 201)
        # The header is optional.
        return str(response.headers.get("Docker-Content-Digest") or document.digest)

    def delete(self, version: str) -> bool:
        """Delete a digest with all of its tags, or one tag; False if the registry forbids it."""
        response = self._http.request("DELETE", self._path("manifests", version))
        if response.status_code in NOT_DELETABLE:
            return False
        self._expect(response, f"{self.at(version)} cannot be deleted", 200, 202, 404)
        return True

    def tags(self) -> list[str]:
        """Every tag, sorted; none if the repository does not exist yet."""
        tags: list[str] = []
        path = self._path("tags", "list") + "?n=1000"
        for _ in range(_PAGES):
            response = self._http.request("GET", path)
            if response.status_code == requests.codes.not_found:
                break
            self._expect(response, f"the tags of {self} cannot be listed", 200)
            try:
                page = parse_json(response.content)["tags"] or []
            except (ValueError, TypeError, KeyError):
                page = None
            if not isinstance(page, list) or not all(
                isinstance(t, str) and is_tag(t) for t in page
            ):
                raise self._error(f"{self.host} does not answer like a registry.")
            tags += page
            path = response.links.get("next", {}).get("url", "")
            if not path:
                break
        else:
            raise self._error(f"{self} has more than {_PAGES:,} pages of tags.")
        return sorted({*tags})

    def has_manifest(self, digest: str) -> bool:
        """True if the repository has the manifest or index, and can read it."""
        return self._has("manifests", digest)

    def has_blob(self, digest: str) -> bool:
        """True if the repository has the blob, and can read it."""
        return self._has("blobs", digest)

    def _has(self, kind: str, digest: str) -> bool:
        accept = {"Accept": ", ".join(MANIFESTS)} if kind == "manifests" else {}
        response = self._http.request("HEAD", self._path(kind, digest), headers=accept)
        # A registry whose disk was full when it stored this answers 500 until it stores it again.
        if response.status_code in (requests.codes.not_found, requests.codes.server_error):
            return False
        self._expect(response, f"{digest} of {self} cannot be looked up", 200)
        return True

    def put_blob(
        self, blob: Descriptor, content: Callable[[], BinaryIO], *, mount: str = ""
    ) -> None:
        """Upload a blob that ``content`` opens, again from its start if the connection breaks.

        ``mount`` names another repository of the registry that may have the blob already.
        """
        start = self._path("blobs", "uploads/")
        query = "?" + urlencode({"mount": blob.digest, "from": mount}) if mount else ""

        def attempt() -> requests.Response:
            begun = self._http.once("POST", start + query)
            if begun.status_code != requests.codes.accepted:
                return begun
            place = begun.headers.get("Location")
            if not place:
                raise self._error(f"{self.host} does not answer like a registry.")
            address = f"{place}{'&' if '?' in place else '?'}{urlencode({'digest': blob.digest})}"
            headers = {"Content-Type": "application/octet-stream"}
            return self._http.once("PUT", address, content=content, headers=headers)

        response = self._http.with_retries(attempt)
        self._expect(response, f"{self} refuses the blob {blob.digest}", 201)

    def read_blob(self, blob: Descriptor, reader: Callable[[Iterator[bytes]], T]) -> T:
        """The result of ``reader`` for the content of the blob, whose digest is checked.

        If the connection breaks, ``reader`` is called again with the content from its start.
        """
        results: list[T] = []

        def attempt() -> requests.Response:
            path = self._path("blobs", blob.digest)
            with self._http.once("GET", path, stream=True) as response:
                if response.status_code == requests.codes.ok:
                    results[:] = [reader(self._checked(blob, response))]
            return response

        response = self._http.with_retries(attempt)
        self._expect(response, f"the blob {blob.digest} of {self} cannot be read", 200)
        return results[0]

    def read_config(self, blob: Descriptor) -> dict[str, Any]:
        """The config of an image, or another small JSON object of a registry."""
        if blob.size > MOST_CONFIG:
            raise self._error(f"the config {blob.digest} of {self} has more than 8 MB.")
        try:
            config = parse_json(self.read_blob(blob, b"".join), most=MOST_CONFIG)
        except ValueError as error:
            what = f"the config {blob.digest} of {self} is not valid: {error}."
            raise self._error(what) from error
        if not isinstance(config, dict):
            raise self._error(f"the config {blob.digest} of {self} is not an object.")
        return config

    def _checked(self, blob: Descriptor, response: requests.Response) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        with in_time(response, LONGEST + blob.size / _SLOWEST):
            for chunk in response.iter_content(_CHUNK):
                size += len(chunk)
                if size > blob.size:
                    what = f"the blob {blob.digest} of {self} has more than {blob.size:,} bytes."
                    raise self._error(what)
                digest.update(chunk)
                yield chunk
        if "sha256:" + digest.hexdigest() != blob.digest:
            raise self._error(f"the blob {blob.digest} of {self} does not match its digest.")

    def at(self, version: str) -> str:
        """The reference to ``version``, a tag or a digest, in this repository."""
        return f"{self}{'@' if version.startswith('sha256:') else ':'}{version}"

    def _path(self, kind: str, name: str) -> str:
        return f"/v2/{self.name}/{kind}/{name}"

    def _expect(self, response: requests.Response, what: str, *codes: int) -> None:
        if response.status_code not in codes:
            fix = (
                "The registry's disk is full: make room there." if storage_is_full(response) else ""
            )
            what = f"{what}: {explanation(response)}"
            raise self._error(what, fix=fix, status=response.status_code)

    def _error(self, what: str, *, fix: str = "", status: int = 0) -> RegistryError:
        problem = Problem(what=what, fix=fix or "Look into the registry's log.")
        return RegistryError(problem, status=status)


_BRIEF = replace(RETRIES, tries=4)
"""Retries of a registry that may be one of several: about two seconds if nobody answers."""

_ONCE_MORE = replace(RETRIES, tries=2)
"""Retries of a registry without which a build has a stand-in."""

_FIX = "Check the reference, the network and the login; 'docker login HOST' stores one."


def locate(references: Sequence[str], platform: str, ca: Path | None = None) -> str:
    """The first of ``references`` whose registry has the image for ``platform``.

    All of them have the same digest. ``ca`` is a file of certificates to trust.
    """
    return _first(references, (platform,), ca)[0]


def digest_of_tag(
    references: Sequence[str], platforms: Collection[str], ca: Path | None = None
) -> str:
    """The digest of the first of ``references``, which have a tag, whose registry has the image."""
    return _first(references, platforms, ca)[1].digest


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """An image in a registry: ``digest`` is that of the index, ``own`` that of one platform.

    They are equal for an image that is for one platform only, which is not an index.
    """

    digest: str
    own: str


def resolved(reference: str, platform: str, ca: Path | None = None) -> Resolved:
    """The image that ``reference`` names now, and the one for ``platform`` in it."""
    place = parse_reference(reference)
    repository = Repository(place.registry, place.repository, ca=ca, retries=_ONCE_MORE)
    document = repository.manifest(place.version)
    if document is None:
        raise EngineError(Problem(what=f"{reference} does not exist.", fix=_FIX))
    _require_platform(repository, document, reference, platform)
    entries = manifest_contents(document).manifests
    digests = (entry.digest for entry in entries if entry.platform == platform)
    return Resolved(digest=document.digest, own=next(digests, document.digest))


def is_index(references: Sequence[str], platform: str, ca: Path | None = None) -> bool:
    """True if the digest that ``references`` have is that of an index, with ``platform`` in it.

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
            repository = Repository(place.registry, place.repository, ca=ca, retries=_BRIEF)
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
        contents = manifest_contents(document)
        if contents.manifests:
            platforms = {entry.platform for entry in contents.manifests if entry.platform}
        else:
            config = repository.read_config(contents.blobs[0])
            platforms = {f"{config['os']}/{config['architecture']}"}
    except (ValueError, LookupError, TypeError) as error:
        what = f"{reference} is not an image that can be read."
        raise RegistryError(Problem(what=what, fix=_FIX)) from error
    if platform not in platforms:
        listed = ", ".join(sorted(platforms)) or "no platform"
        what = f"{reference} is for {listed}, and {platform} is needed."
        raise ArtifactError(Problem(what=what, fix=f"Name an image for {platform}."))
