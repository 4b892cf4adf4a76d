# SPDX-License-Identifier: Apache-2.0
"""Brings images into a registry, from this machine or from another registry, and reads them back.

Everything goes by digest: no tag is written here.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cannery import console
from cannery.errors import Problem, file_error
from cannery.execute.engine.image_archive import opener, unpacked
from cannery.execute.registry.client import Repository
from cannery.execute.registry.http import RegistryError
from cannery.publish.oci import Descriptor, Document, manifest_contents

_LARGE = 100_000_000
"""Bytes from which on people are told what takes so long."""


@dataclass(frozen=True, kw_only=True)
class Blob:
    """A blob, and what opens it as often as it must be read."""

    descriptor: Descriptor
    content: Callable[[], BinaryIO]


@dataclass(frozen=True, kw_only=True)
class OciContent:
    """All of an image. ``documents`` come after those that they need; the last is pulled."""

    name: str
    blobs: tuple[Blob, ...]
    documents: tuple[Document, ...]

    @property
    def root(self) -> Document:
        return self.documents[-1]


def blob_of(media_type: str, content: bytes) -> Blob:
    """A blob that is at hand."""
    descriptor = Document(media_type=media_type, content=content).descriptor()
    return Blob(descriptor=descriptor, content=lambda: io.BytesIO(content))


def upload(repository: Repository, bundle: OciContent) -> None:
    """Bring ``bundle`` into ``repository``, less what is there.

    Raises:
        RegistryError: the registry does not take it.
        FileError: a blob cannot be read.
    """
    missing = [each for each in bundle.blobs if not repository.has_blob(each.descriptor.digest)]
    size = sum(each.descriptor.size for each in missing)
    console.say(
        f"{bundle.name}: uploading {len(missing)} of {len(bundle.blobs)} blobs ({megabytes(size)})"
    )
    for each in missing:
        if each.descriptor.size > _LARGE:
            console.say(f"{bundle.name}: uploading {megabytes(each.descriptor.size)} in one")
        try:
            repository.put_blob(each.descriptor, each.content)
        except OSError as error:
            raise file_error("read", Path(error.filename or "."), error) from error
    for document in bundle.documents:
        repository.put_manifest(document.digest, document)


def megabytes(size: int) -> str:
    """``size`` bytes, for people."""
    return f"{size / 1e6:.1f} MB"


def closure(repository: Repository, digest: str) -> list[Document]:
    """The manifest ``digest`` and all that it needs, each after those that it needs.

    Raises:
        RegistryError: one is not there.
    """
    document = repository.manifest(digest)
    if document is None:
        what = f"{repository.at(digest)} is not there."
        raise RegistryError(Problem(what=what, fix="Was it deleted meanwhile?"), status=404)
    try:
        inner = manifest_contents(document).manifests
    except ValueError as error:
        raise RegistryError(Problem(what=f"{repository.at(digest)}: {error}.")) from error
    found = [each for entry in inner for each in closure(repository, entry.digest)]
    return [*{each.digest: each for each in [*found, document]}.values()]


def blobs_of(documents: list[Document]) -> dict[str, Descriptor]:
    """Digest to descriptor of every blob that ``documents`` name."""
    return {blob.digest: blob for each in documents for blob in manifest_contents(each).blobs}


def read_back(
    repository: Repository, digest: str, diff_ids: Mapping[str, str], seen: set[str]
) -> list[Document]:
    """Read the image ``digest`` and every blob of it out of ``repository``, and check them all.

    ``diff_ids`` says what layers must unpack to; ``seen`` are the blobs that need not be read, and
    gets those that were.

    Raises:
        RegistryError: something is missing, or is not what it should be.
    """
    documents = closure(repository, digest)
    for blob in blobs_of(documents).values():
        if blob.digest in seen:
            continue
        wanted = diff_ids.get(blob.digest)
        found = _unpacked(repository, blob) if wanted else _drained(repository, blob)
        if wanted and found != wanted:
            what = f"the layer {blob.digest} of {repository} unpacks to {found}, not {wanted}."
            fix = "Delete .cannery/blobs, and push again."
            raise RegistryError(Problem(what=what, fix=fix))
        seen.add(blob.digest)
    return documents


def _unpacked(repository: Repository, blob: Descriptor) -> str:
    try:
        return repository.read_blob(blob, lambda chunks: unpacked(blob, chunks))
    except ValueError as error:
        raise RegistryError(Problem(what=f"{repository}: {error}.")) from error


def _drained(repository: Repository, blob: Descriptor) -> str:
    def drain(chunks: Iterator[bytes]) -> str:
        for _ in chunks:
            pass
        return ""

    return repository.read_blob(blob, drain)


def copy(source: Repository, destination: Repository, documents: list[Document]) -> None:
    """Bring ``documents`` of ``source``, and their blobs, into ``destination``.

    Raises:
        RegistryError: one of the two does not do its part.
        FileError: a blob cannot be kept on the way.
    """
    blobs = blobs_of(documents)
    missing = [each for each in blobs.values() if not destination.has_blob(each.digest)]
    size = megabytes(sum(each.size for each in missing))
    console.say(f"copying {len(missing)} of {len(blobs)} blobs ({size}) to {destination}")
    near = source.name if source.host == destination.host else ""
    for blob in missing:
        with tempfile.TemporaryDirectory(prefix="cannery-copy-") as folder:
            path = Path(folder) / "blob"
            try:
                source.read_blob(blob, lambda chunks, path=path: _keep(path, chunks))  # type: ignore[misc]
                destination.put_blob(blob, opener(path), mount=near)
            except OSError as error:
                raise file_error("write", path, error) from error
    for document in documents:
        destination.put_manifest(document.digest, document)


def _keep(path: Path, chunks: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
