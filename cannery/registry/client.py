# SPDX-License-Identifier: Apache-2.0
"""A repository in a registry: its manifests and its blobs; images in several registries.

Source of the protocol: the OCI distribution specification, 1.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlencode

import requests

from cannery.common.errors import ArtifactError, EngineError, Problem, some_of
from cannery.common.http import LONGEST, SLOWEST, RetryPolicy, in_time
from cannery.common.outside import MOST_CONFIG, parse_json
from cannery.common.references import parse_reference
from cannery.registry.http import RETRIES, Http, RegistryError, explanation, storage_is_full
from cannery.registry.oci import (
    MANIFESTS,
    Descriptor,
    Document,
    is_digest,
    manifest_contents,
)

T = TypeVar("T")

_CHUNK = 1 << 20
_LARGEST_MANIFEST = 4 << 20
"""Bytes; the limit of the specification."""

_NOT_DELETABLE = (400, 405)
"""The status of a registry that does not allow deletion, or no deletion of tags."""

_ACCEPT = {"Accept": ", ".join(MANIFESTS)}


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
        return self._http.auth.login.username, self._http.auth.login.password

    def resolve(self, version: str) -> str:
        """The digest of ``version``, a tag or a digest; empty if it does not exist.

        It is that of the bytes, whatever the registry says of them.
        """
        document = self.manifest(version)
        return document.digest if document else ""

    def manifest(self, version: str) -> Document | None:
        """The manifest or index of ``version``, a tag or a digest; None if it does not exist."""
        path = self._path("manifests", version)
        response = self._http.request("GET", path, headers=_ACCEPT)
        if response.status_code == requests.codes.not_found:
            return None
        self._expect(response, f"{self.at(version)} cannot be read", 200)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
        document = Document(media_type=kind, content=response.content)
        # No tag has a colon.
        if ":" in version and document.digest != version:
            raise self._error(f"{self.at(version)} does not match its digest.")
        return document

    def put_manifest(self, version: str, document: Document) -> str:
        """Store ``document`` under ``version``, a tag or its digest.

        Returns the digest that the registry has computed, which differs if the bytes were changed
        on the way. Only reading them back proves what is stored.
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
        digest = response.headers.get("Docker-Content-Digest", "")
        return digest if is_digest(digest) else document.digest

    def delete(self, version: str) -> bool:
        """Delete a digest with all of its tags, or one tag; False if the registry forbids it."""
        response = self._http.request("DELETE", self._path("manifests", version))
        if response.status_code in _NOT_DELETABLE:
            return False
        self._expect(response, f"{self.at(version)} cannot be deleted", 200, 202, 404)
        return True

    def has(self, kind: str, digest: str) -> bool:
        """True if the repository has one of its "manifests" or "blobs", and can read it."""
        headers = _ACCEPT if kind == "manifests" else {}
        response = self._http.request("HEAD", self._path(kind, digest), headers=headers)
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
        name = f"the blob {blob.digest} of {self}"

        def checked(response: requests.Response) -> Iterator[bytes]:
            digest, size = hashlib.sha256(), 0
            with in_time(LONGEST + blob.size / SLOWEST, response):
                for chunk in response.iter_content(_CHUNK):
                    size += len(chunk)
                    if size > blob.size:
                        raise self._error(f"{name} has more than {blob.size:,} bytes.")
                    digest.update(chunk)
                    yield chunk
            if "sha256:" + digest.hexdigest() != blob.digest:
                raise self._error(f"{name} does not match its digest.")
            if size != blob.size:
                raise self._error(f"{name} has {size:,} bytes, and {blob.size:,} were named.")

        def attempt() -> requests.Response:
            path = self._path("blobs", blob.digest)
            with self._http.once("GET", path, stream=True) as response:
                if response.status_code == requests.codes.ok:
                    results[:] = [reader(checked(response))]
            return response

        response = self._http.with_retries(attempt)
        self._expect(response, f"{name} cannot be read", 200)
        return results[0]

    def read_small(self, blob: Descriptor, most: int) -> bytes:
        """The content of a blob of at most ``most`` bytes, which is in memory as a whole."""
        if blob.size > most:
            what = f"the blob {blob.digest} of {self} has {blob.size:,} bytes, and {most:,} are "
            raise self._error(f"{what}the limit.")
        return self.read_blob(blob, b"".join)

    def read_config(self, blob: Descriptor) -> dict[str, Any]:
        """The config of an image, or another small JSON object of a registry."""
        name = f"the config {blob.digest} of {self}"
        try:
            config = parse_json(self.read_small(blob, MOST_CONFIG), most=MOST_CONFIG)
        except ValueError as error:
            raise self._error(f"{name} is not valid: {error}.") from error
        if not isinstance(config, dict):
            raise self._error(f"{name} is not an object.")
        return config

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


_BRIEF = 4
"""Tries of a registry that may be one of several: about two seconds if nobody answers."""

_FIX = "Check the reference, the network and the login; 'docker login HOST' stores one."


@dataclass(frozen=True, kw_only=True)
class LocatedImage:
    """An image in a registry: ``reference`` is the one that names it, ``digest`` that of the index.

    ``platforms`` are the digests of its images by platform; empty if it is not an index.
    """

    reference: str
    digest: str
    platforms: Mapping[str, str]


def locate(
    references: Sequence[str],
    platforms: Collection[str],
    ca: Path | None = None,
    *,
    tries: int = _BRIEF,
) -> LocatedImage:
    """The image at the first of ``references``, which are of one image, whose registry has it.

    ``ca`` is a file of certificates to trust.

    Raises:
        ArtifactError: the image is not for all of ``platforms``.
        UnreachableError: the registry of the only reference cannot be reached.
        EngineError: no registry has it; with the reason of each of them.
    """
    problems: list[Problem] = []
    retries = replace(RETRIES, tries=tries)
    for reference in references:
        try:
            place = parse_reference(reference)
            repository = Repository(place.registry, place.repository, ca=ca, retries=retries)
            document = repository.manifest(place.version)
            if document is None:
                problems.append(Problem(what=f"{reference} does not exist.", fix=_FIX))
                continue
            try:
                contents = manifest_contents(document)
                digests = {e.platform: e.digest for e in contents.manifests if e.platform}
                present = {*digests}
                if not contents.manifests:
                    config = repository.read_config(contents.blobs[0])
                    present = {f"{config['os']}/{config['architecture']}"}
            except (ValueError, LookupError, TypeError) as error:
                what = f"{reference} is not an image that can be read."
                raise RegistryError(Problem(what=what, fix=_FIX)) from error
        except RegistryError as error:
            if len(references) == 1:
                raise
            problems += error.problems
            continue
        for platform in platforms:
            if platform not in present:
                listed = some_of(sorted(present), 10) or "no platform"
                what = f"{reference} is for {listed}, and {platform} is needed."
                raise ArtifactError(Problem(what=what, fix=f"Name an image for {platform}."))
        return LocatedImage(reference=reference, digest=document.digest, platforms=digests)
    raise EngineError(problems)
