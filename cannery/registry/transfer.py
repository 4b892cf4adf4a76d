# SPDX-License-Identifier: Apache-2.0
"""Copies images into a registry by digest, reads them back, and moves tags all or none.

The images are this machine's or another registry's.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
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
            if blob.size > shutil.disk_usage(folder).free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            source.read_blob(blob, write)
            return path.open("rb")

        blobs = {blob: partial(download, blob) for blob in _blobs_of(documents).values()}
        content = OciContent(name=str(source), blobs=blobs, documents=tuple(documents))
        mount = source.name if source.host == destination.host else ""
        return upload(destination, content, mount=mount)


MOST_MANIFESTS = 500
MOST_BYTES = 64 << 20
MOST_BLOBS = 10_000
_DEEPEST = 8
"""The limits of what one digest may lead to: manifests, their bytes, their blobs, and indexes in
each other."""


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
    documents = [*read.values()]
    if len(_blobs_of(documents)) > MOST_BLOBS:
        raise _refused(f"{whole} has more than {MOST_BLOBS:,} blobs")
    return documents


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

MOVED = "Every tag has been moved, and the records are written."
"""The last line of an interrupt of a push that has done everything."""


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
    moved: bool = False
    """True once every tag was read back with its new document."""
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
                self._move(tag, document)
            for tag, document in after.items():
                self._check(tag, document.digest)
            self.moved = True
        except BaseException as error:
            if not self.moved:
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
        """Undo the moves, and return the state of all tags as it is read afterwards."""
        if not self._tried:
            return UNMOVED
        gone: RegistryError | None = None
        errors: dict[str, RegistryError] = {}
        left: list[str] = []
        # New tags come last, because deleting one may delete its digest with other tags of it.
        tags = sorted(self._tried, key=lambda tag: tag not in self.before)
        for tag in tags:
            try:
                self._put_one_back(tag)
            except RegistryError as error:
                errors[tag] = error
                if not error.status:
                    # Nobody can interrupt this, so it does not wait for the registry again.
                    gone = error
                    break
        for tag in tags:
            now: str | None = None
            try:
                now = None if gone else self.repository.resolve(tag)
            except RegistryError as error:
                errors[tag] = error
                gone = None if error.status else error
            if now != self._digest_before(tag):
                left.append(self._state(tag, now, errors.get(tag) or gone))
        if left:
            return "Some tags could not be put back:\n  " + "\n  ".join(left)
        return f"Every moved tag was put back: {', '.join(map(self.repository.at, self._tried))}."

    def _digest_before(self, tag: str) -> str:
        return self.before[tag].digest if tag in self.before else ""

    def _put_one_back(self, tag: str) -> None:
        now, after = self.repository.resolve(tag), self._tried[tag].digest
        if now not in (after, self._stored.get(tag)):
            return
        if before := self.before.get(tag):
            self.repository.put_manifest(tag, before)
        # Nobody else has the bytes that were changed on their way from here.
        elif not self.repository.delete(tag) and (now in self.new or now != after):
            # With the digest go all tags of it, also one that could not be put back.
            old = [other for other in self._tried if other in self.before]
            if now not in map(self.repository.resolve, old):
                self.repository.delete(now)

    def _state(self, tag: str, now: str | None, error: RegistryError | None) -> str:
        """What is known of a tag that names ``now``, and not what it named before.

        ``now`` is None if the registry does not say; ``error`` is why it could not be put back.
        """
        name, after = self.repository.at(tag), self._tried[tag].digest
        reason = f" ({str(error).splitlines()[0]})" if error else ""
        first, mend = f"{name} is new", ""
        if before := self._digest_before(tag):
            first = f"{name} named {before}"
            mend = f"promote {self.repository.at(before)} {name} --allow unrecorded"
            mend = f"; to put it back: python build.py {mend}"
        if now is None:
            return f"{first} and may name {after} now{mend}{reason}"
        if now not in (after, self._stored.get(tag)):
            why = "somebody else has moved it, or the bytes were changed on the way"
            return f"{first} and names {now or 'nothing'} now: {why}{mend}{reason}"
        if before:
            return f"{first} and names {now} now{mend}{reason}"
        if error:
            return f"{first} and names {now}{reason}"
        state = f"{first} and names {now}: this registry does not delete tags."
        return f"{state} The image is complete and tested; the next push uses it as it is."


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
