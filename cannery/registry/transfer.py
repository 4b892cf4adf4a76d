# SPDX-License-Identifier: Apache-2.0
"""Copies images into a registry, from this machine or from another registry, and reads them back.

Everything is addressed by digest; no tag is written here.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from cannery.common import console
from cannery.common.errors import Problem, file_error
from cannery.registry.client import Repository
from cannery.registry.http import RegistryError
from cannery.registry.image_archive import opener, unpacked
from cannery.registry.oci import Descriptor, Document, manifest_contents

_BAD_REQUEST = 400
"""The status of the answer MANIFEST_BLOB_UNKNOWN."""

_LARGE = 100_000_000
"""Bytes; the upload of a larger blob is announced, because it takes long."""


@dataclass(frozen=True, kw_only=True)
class Blob:
    """A blob; ``content`` opens it, and may be called several times."""

    descriptor: Descriptor
    content: Callable[[], BinaryIO]


@dataclass(frozen=True, kw_only=True)
class OciContent:
    """Everything of an image: its blobs, and its manifests and indexes.

    Each of ``documents`` comes after those that it needs; the last is what people pull.
    """

    name: str
    blobs: tuple[Blob, ...]
    documents: tuple[Document, ...]

    @property
    def root(self) -> Document:
        return self.documents[-1]


def blob_of(media_type: str, content: bytes) -> Blob:
    """A blob with this content in memory."""
    descriptor = Document(media_type=media_type, content=content).descriptor()
    return Blob(descriptor=descriptor, content=lambda: io.BytesIO(content))


def upload(repository: Repository, image: OciContent) -> None:
    """Upload ``image`` into ``repository``, except for blobs that it has already."""

    def fill() -> None:
        missing = [blob for blob in image.blobs if not repository.has_blob(blob.descriptor.digest)]
        size = megabytes(sum(blob.descriptor.size for blob in missing))
        console.say(f"{image.name}: uploading {len(missing)} of {len(image.blobs)} blobs ({size})")
        for blob in missing:
            if blob.descriptor.size > _LARGE:
                size = megabytes(blob.descriptor.size)
                console.say(f"{image.name}: uploading a blob of {size}")
            try:
                repository.put_blob(blob.descriptor, blob.content)
            except OSError as error:
                raise file_error("read", Path(error.filename or "."), error) from error

    _store(repository, image.documents, fill)


def _store(repository: Repository, documents: Iterable[Document], fill: Callable[[], None]) -> None:
    """Write ``documents`` once ``fill`` has uploaded the missing blobs.

    Two runs that upload the same blob at once may each see it before the registry keeps it. If the
    registry then rejects a manifest because of it, the missing blobs are uploaded again.
    """
    fill()
    for document in documents:
        try:
            repository.put_manifest(document.digest, document)
        except RegistryError as error:
            if error.status != _BAD_REQUEST:
                raise
            fill()
            repository.put_manifest(document.digest, document)


def megabytes(size: int) -> str:
    """``size`` in bytes as text, as in ``1.5 MB``."""
    return f"{size / 1e6:.1f} MB"


def closure(repository: Repository, digest: str) -> list[Document]:
    """The manifest ``digest`` and all manifests in it, each after those that it needs."""
    document = repository.manifest(digest)
    if document is None:
        what = f"{repository.at(digest)} does not exist."
        fix = "Somebody may have deleted it meanwhile: try again."
        raise RegistryError(Problem(what=what, fix=fix), status=404)
    try:
        inner = manifest_contents(document).manifests
    except ValueError as error:
        raise RegistryError(Problem(what=f"{repository.at(digest)}: {error}.")) from error
    nested = [manifest for entry in inner for manifest in closure(repository, entry.digest)]
    return [*{manifest.digest: manifest for manifest in [*nested, document]}.values()]


def blobs_of(documents: list[Document]) -> dict[str, Descriptor]:
    """Digest to descriptor of every blob that ``documents`` name."""
    return {blob.digest: blob for each in documents for blob in manifest_contents(each).blobs}


def read_back(
    repository: Repository, digest: str, diff_ids: Mapping[str, str], seen: set[str]
) -> list[Document]:
    """Read the image ``digest`` and every blob of it out of ``repository``, and check them all.

    ``diff_ids`` maps digests of layers to the digests of what they must unpack to. Blobs in
    ``seen`` are not read, and those that were read are added to it.
    """
    documents = closure(repository, digest)
    for blob in blobs_of(documents).values():
        if blob.digest in seen:
            continue
        wanted = diff_ids.get(blob.digest, "")
        if wanted:
            try:
                actual = repository.read_blob(blob, partial(unpacked, blob))
            except ValueError as error:
                raise RegistryError(Problem(what=f"{repository}: {error}.")) from error
        else:
            # The digest is checked while the content is read.
            actual = repository.read_blob(blob, _drain)
        if actual != wanted:
            what = (
                f"the layer {blob.digest} of {repository} unpacks to {actual} instead of {wanted}."
            )
            fix = (
                "Delete .cannery/blobs and push again. If the image was published before, somebody "
                "has changed it: delete its tag in the registry first."
            )
            raise RegistryError(Problem(what=what, fix=fix))
        seen.add(blob.digest)
    return documents


def _drain(chunks: Iterator[bytes]) -> str:
    for _ in chunks:
        pass
    return ""


def copy(source: Repository, destination: Repository, documents: list[Document]) -> None:
    """Copy ``documents`` of ``source``, and their blobs, into ``destination``."""
    blobs = blobs_of(documents)
    mount = source.name if source.host == destination.host else ""

    def fill() -> None:
        missing = [blob for blob in blobs.values() if not destination.has_blob(blob.digest)]
        size = megabytes(sum(blob.size for blob in missing))
        console.say(f"copying {len(missing)} of {len(blobs)} blobs ({size}) to {destination}")
        for blob in missing:
            with tempfile.TemporaryDirectory(prefix="cannery-copy-") as folder:
                path = Path(folder) / "blob"
                try:
                    source.read_blob(blob, partial(_write, path))
                    destination.put_blob(blob, opener(path), mount=mount)
                except OSError as error:
                    raise file_error("write", path, error) from error

    _store(destination, documents, fill)


def _write(path: Path, chunks: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(chunks)
