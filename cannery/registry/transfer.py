# SPDX-License-Identifier: Apache-2.0
"""Copies images into a registry by digest, reads them back, and moves tags all or none.

The images are this machine's or another registry's.
"""

from __future__ import annotations

import io
import signal
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import current_thread, main_thread
from typing import BinaryIO

from cannery.common import console
from cannery.common.console import size_text
from cannery.common.errors import CanneryError, Problem, PublishError, file_error
from cannery.registry.client import Repository
from cannery.registry.http import RegistryError
from cannery.registry.image_archive import unpacked
from cannery.registry.oci import Descriptor, Document, manifest_contents

_BAD_REQUEST = 400
"""The status of the answer MANIFEST_BLOB_UNKNOWN."""

BlobContents = Mapping[Descriptor, Callable[[], BinaryIO]]

_LARGE = 100_000_000
"""Bytes; the upload of a larger blob is announced, because it takes long."""


@dataclass(frozen=True, kw_only=True)
class OciContent:
    """Everything of an image: its blobs, and its manifests and indexes.

    ``blobs`` maps blobs to what opens them, which may be called several times. Each of
    ``documents`` comes after those that it needs; the last is what people pull.
    """

    name: str
    blobs: BlobContents
    documents: tuple[Document, ...]

    @property
    def root(self) -> Document:
        return self.documents[-1]


def in_memory(*blobs: Document) -> BlobContents:
    """Blobs whose content is in memory."""
    return {blob.descriptor(): partial(io.BytesIO, blob.content) for blob in blobs}


def upload(repository: Repository, image: OciContent, *, mount: str = "") -> set[str]:
    """Upload ``image`` into ``repository``; the digests of the manifests that it did not have.

    ``mount`` names another repository of the registry that has the blobs.
    """
    new = {d.digest for d in image.documents if not repository.has("manifests", d.digest)}

    def fill() -> None:
        missing = [blob for blob in image.blobs if not repository.has("blobs", blob.digest)]
        size = size_text(sum(blob.size for blob in missing))
        console.say(f"{image.name}: uploading {len(missing)} of {len(image.blobs)} blobs ({size})")
        for blob in missing:
            if blob.size > _LARGE:
                console.say(f"{image.name}: uploading a blob of {size_text(blob.size)}")
            try:
                repository.put_blob(blob, image.blobs[blob], mount=mount)
            except OSError as error:
                # The copy of another registry's blob cannot be written.
                action = "read" if error.filename else "write"
                path = Path(error.filename or tempfile.gettempdir())
                raise file_error(action, path, error) from error

    fill()
    for document in image.documents:
        try:
            repository.put_manifest(document.digest, document)
        except RegistryError as error:
            if error.status != _BAD_REQUEST:
                raise
            # Two runs that upload a blob at once may each see it before the registry keeps it.
            fill()
            repository.put_manifest(document.digest, document)
    return new


def copy(source: Repository, destination: Repository, documents: Sequence[Document]) -> set[str]:
    """Copy ``documents`` of ``source``, and their blobs, into ``destination``, as ``upload``."""
    with tempfile.TemporaryDirectory(prefix="cannery-copy-") as folder:
        path = Path(folder) / "blob"

        def write(chunks: Iterator[bytes]) -> None:
            with path.open("wb") as file:
                file.writelines(chunks)

        def download(blob: Descriptor) -> BinaryIO:
            source.read_blob(blob, write)
            return path.open("rb")

        blobs = {blob: partial(download, blob) for blob in _blobs_of(documents).values()}
        content = OciContent(name=str(source), blobs=blobs, documents=tuple(documents))
        mount = source.name if source.host == destination.host else ""
        return upload(destination, content, mount=mount)


MOST_MANIFESTS = 500
MOST_BYTES = 64 << 20
_DEEPEST = 8
"""The limits of what one digest may lead to: manifests, their bytes, indexes in each other."""


def closure(repository: Repository, digest: str) -> list[Document]:
    """The manifest ``digest`` and all manifests in it, each after those that it needs."""
    read: dict[str, Document] = {}
    whole = repository.at(digest)

    def add(wanted: str, size: int | None, outer: int) -> None:
        if wanted in read:
            return
        if outer > _DEEPEST:
            raise _refused(
                f"{whole} has indexes inside of each other, and {_DEEPEST} are the limit"
            )
        # The outer ones are not in it yet.
        if len(read) + outer >= MOST_MANIFESTS:
            raise _refused(f"{whole} has more than {MOST_MANIFESTS:,} manifests")
        document = repository.manifest(wanted)
        if document is None:
            what = f"{repository.at(wanted)} does not exist."
            fix = "Somebody may have deleted it meanwhile: try again."
            raise RegistryError(Problem(what=what, fix=fix), status=404)
        length = len(document.content)
        if size not in (None, length):
            raise _refused(f"{repository.at(wanted)} has {length:,} bytes, and {size:,} were named")
        if sum(len(other.content) for other in read.values()) + length > MOST_BYTES:
            raise _refused(f"{whole} has manifests of more than {MOST_BYTES:,} bytes")
        try:
            entries = manifest_contents(document).manifests
        except ValueError as error:
            raise _refused(f"{repository.at(wanted)}: {error}") from error
        for entry in entries:
            add(entry.digest, entry.size, outer + 1)
        read[wanted] = document

    add(digest, None, 0)
    return [*read.values()]


def _refused(what: str) -> RegistryError:
    return RegistryError(Problem(what=f"{what}.", fix="Ask whoever has pushed it."))


def _blobs_of(documents: Iterable[Document]) -> dict[str, Descriptor]:
    return {b.digest: b for document in documents for b in manifest_contents(document).blobs}


def read_back(
    repository: Repository, digest: str, diff_ids: Mapping[str, str], seen: set[str]
) -> list[Document]:
    """Read the image ``digest`` and every blob of it out of ``repository``, and check them all.

    ``diff_ids`` maps digests of layers to the digests of what they must unpack to. Blobs in
    ``seen`` are not read, and those that were read are added to it.
    """
    documents = closure(repository, digest)
    for blob in _blobs_of(documents).values():
        if blob.digest in seen:
            continue
        expected = diff_ids.get(blob.digest)
        try:
            # The digest of the blob is checked while it is read.
            actual = repository.read_blob(blob, partial(unpacked if expected else _drain, blob))
        except ValueError as error:
            raise RegistryError(Problem(what=f"{repository}: {error}.")) from error
        if actual != expected:
            what = f"the layer {blob.digest} of {repository} unpacks to {actual}"
            fix = (
                "Delete .cannery/blobs and push again. If the image was published before, somebody "
                "has changed it: delete its tag in the registry first."
            )
            raise RegistryError(Problem(what=f"{what} instead of {expected}.", fix=fix))
        seen.add(blob.digest)
    return documents


def _drain(_: Descriptor, chunks: Iterator[bytes]) -> None:
    for _chunk in chunks:
        pass


_ASK = "Find out who moved it, then push again."

UNMOVED = "This run moved no tag."
"""The last line of a failure before any tag was moved."""


def read_tags(repository: Repository, tags: Iterable[str]) -> dict[str, Document]:
    """The manifest that each existing one of ``tags`` names now, so that it can be put back."""
    documents = {tag: repository.manifest(tag) for tag in dict.fromkeys(tags)}
    return {tag: document for tag, document in documents.items() if document}


@contextmanager
def _uninterrupted() -> Iterator[None]:
    signals = {signal.SIGINT, signal.SIGTERM}
    if current_thread() is not main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class TagMover:
    """Moves tags of one repository, which named ``before`` at first.

    ``new`` are the digests that this run has uploaded. If a registry cannot delete a single tag,
    only these may be deleted, which removes all of their tags.
    """

    repository: Repository
    before: Mapping[str, Document]
    new: Collection[str]
    _tried: dict[str, Document] = field(default_factory=dict)
    _stored: dict[str, str] = field(default_factory=dict)
    """Tag to the digest that the registry has stored under it."""

    def move(self, after: Mapping[str, Document]) -> None:
        """Let every tag name its document in ``after``, in their order, or none.

        The last problem of an error says what state the tags are in; for an error that is not ours,
        as KeyboardInterrupt, that state is printed.
        """
        try:
            for tag, document in after.items():
                if tag not in self.before or self.before[tag].digest != document.digest:
                    self._move(tag, document)
            for tag, document in after.items():
                self._check(tag, document.digest)
        except BaseException as error:
            with _uninterrupted():
                state = self._put_back()
            add_state(error, state)
            raise

    def _move(self, tag: str, after: Document) -> None:
        name, now = self.repository.at(tag), self.repository.resolve(tag)
        if now == after.digest:
            return
        before = self.before[tag].digest if tag in self.before else ""
        if now != before:
            what = f"{name} named {before or 'nothing'} at first and names {now or 'nothing'} now: "
            raise PublishError(Problem(what=f"{what}somebody else has moved it.", fix=_ASK))
        self._tried[tag] = after
        stored = self._stored[tag] = self.repository.put_manifest(tag, after)
        if stored != after.digest:
            raise RegistryError(_changed(name, after, stored))
        console.say(f"{name} names {after.digest}")

    def _check(self, tag: str, digest: str) -> None:
        name, now = self.repository.at(tag), self.repository.resolve(tag)
        if now != digest:
            what = f"{name} was set to {digest} but names {now or 'nothing'}: somebody else has "
            what += "moved it, or the registry keeps tags fixed."
            raise PublishError(Problem(what=what, fix=_ASK))

    def _put_back(self) -> str:
        """Undo the moves, and return a description of the state of all tags."""
        left: list[str] = []
        gone: RegistryError | None = None
        # New tags come last, because deleting one may delete its digest with other tags of it.
        for tag in sorted(self._tried, key=lambda tag: tag not in self.before):
            name, after = self.repository.at(tag), self._tried[tag].digest
            try:
                if gone:
                    # Nobody can interrupt this, so it does not wait for the registry again.
                    raise gone
                left += self._put_one_back(tag)
            except RegistryError as error:
                gone = None if error.status else error
                doubt = f"{name} is new and may name {after}"
                if before := self.before.get(tag):
                    mend = f"promote {self.repository.at(before.digest)} {name}"
                    doubt = f"{name} named {before.digest} and may name {after} now; "
                    doubt += f"to put it back: python build.py {mend} --allow unrecorded"
                left.append(f"{doubt} ({str(error).splitlines()[0]})")
        if left:
            return "Some tags could not be put back:\n  " + "\n  ".join(left)
        if not self._tried:
            return UNMOVED
        return f"Every moved tag was put back: {', '.join(map(self.repository.at, self._tried))}."

    def _put_one_back(self, tag: str) -> list[str]:
        """Undo the move of ``tag``; the problems that are left."""
        name, now = self.repository.at(tag), self.repository.resolve(tag)
        after = self._tried[tag].digest
        if now not in (after, self._stored.get(tag)):
            return []
        if before := self.before.get(tag):
            stored = self.repository.put_manifest(tag, before)
            return [] if stored == before.digest else [str(_changed(name, before, stored))]
        if self.repository.delete(tag):
            return []
        # Nobody else has the bytes that were changed on their way from here.
        if (now in self.new or now != after) and self.repository.delete(now):
            return []
        state = f"{name} is new and names {now}: this registry does not delete tags."
        return [f"{state} The image is complete and tested; the next push uses it as it is."]


def _changed(tag: str, sent: Document, stored: str) -> Problem:
    what = f"{tag} was set to {sent.digest}, and the registry has stored {stored}"
    fix = "Look for what changes the bytes on the way there, such as a proxy; then try again."
    return Problem(what=f"{what}: the bytes were changed on the way.", fix=fix)


def add_state(error: BaseException, state: str = UNMOVED) -> None:
    """Add the ``state`` of the tags to ``error``; print it for an error that is not ours."""
    if isinstance(error, CanneryError):
        error.problems = (*error.problems, Problem(what=state))
    else:
        console.say(state)
