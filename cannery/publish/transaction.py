# SPDX-License-Identifier: Apache-2.0
"""Publishes images all or none: upload by digest, read back, test, record, and only then tags.

Until the tags move, nothing that has a name in the registry has changed, so a failure needs no
undoing. While they move, ``cannery.registry.transfer`` undoes a failure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cannery.common import console
from cannery.common.errors import FileError, Problem, PublishError
from cannery.common.files import exclusive, read_text, write_files
from cannery.image.content_key import LABEL
from cannery.registry import transfer
from cannery.registry.client import Repository
from cannery.registry.oci import ATTESTED, Document, manifest_contents
from cannery.registry.records import RecordFile

_FIX = "Find out who has pushed it, delete the tag in the registry, and push again."


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


def _read_published(repository: Repository, root: Document, platform: str) -> PublishedImage:
    """The image in the index ``root``, which must be of one image, for ``platform``."""
    documents = transfer.closure(repository, root.digest)
    try:
        [manifest] = images_in(documents)
        entries = manifest_contents(root).manifests
        [_] = [e for e in entries if (e.digest, e.platform) == (manifest.digest, platform)]
        config, *layers = manifest_contents(manifest).blobs
        loaded = repository.read_config(config)
        labels = (loaded.get("config") or {}).get("Labels") or {}
        diff_ids = map(str, loaded["rootfs"]["diff_ids"])
        pairs = zip([layer.digest for layer in layers], diff_ids, strict=True)
        return PublishedImage(
            config=config.digest,
            key=str(labels.get(LABEL, "")),
            content=content_of(loaded),
            diff_ids=dict(pairs),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"{repository.at(root.digest)} has the tag of this image, and no push has made it."
        raise PublishError(Problem(what=what, fix=_FIX)) from error


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


@dataclass(frozen=True, kw_only=True)
class ImagePush:
    """One image to push, for ``platforms``.

    ``key`` is its content key, and ``config`` the digest of its config, which identifies an image
    however its layers are compressed; ``diff_ids`` maps each layer's digest to the digest of what
    it unpacks to. ``key``, ``config`` and ``immutable`` are empty for an index for several
    platforms, which has moving tags only. ``content`` makes the blobs and manifests; it is called
    only if the registry does not have the image yet.
    """

    name: str
    platforms: tuple[str, ...]
    moving: tuple[str, ...]
    content: Callable[[], transfer.OciContent]
    key: str = ""
    config: str = ""
    immutable: str = ""
    diff_ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def tags(self) -> tuple[str, ...]:
        return (*([self.immutable] if self.immutable else []), *self.moving)


@dataclass(frozen=True, kw_only=True)
class PushedImage:
    """An image that is in the registry with everything it needs.

    ``documents`` are its manifests and indexes, each after those that it needs; ``root``, the last
    of them, is what people pull. ``diff_ids`` is as in ``ImagePush``. ``taken`` is the image that
    an earlier build of the same content key has published, and that takes the place of this one.
    """

    image_push: ImagePush
    documents: tuple[Document, ...]
    diff_ids: Mapping[str, str] = field(default_factory=dict)
    taken: PublishedImage | None = None

    @property
    def root(self) -> Document:
        return self.documents[-1]


class Transaction(ABC):
    """A push into ``repository``; a subclass has the steps between the upload and the tags."""

    def __init__(self, repository: Repository, lock: Path) -> None:
        """``lock`` is a file: of the pushes that use it, one at a time moves its tags."""
        self.repository = repository
        self.lock = lock
        self._published: dict[str, PublishedImage] = {}
        """Immutable tag to the image that the registry has under it already."""
        self._read: set[str] = set()
        self._new: set[str] = set()

    @abstractmethod
    def check_taken(self, pushed: PushedImage) -> None:
        """Check an image that an earlier build has published."""

    @abstractmethod
    def platform_indexes(self, pushed: Sequence[PushedImage]) -> Sequence[ImagePush]:
        """Indexes for several platforms of pushed images."""

    @abstractmethod
    def test(self, pushed: PushedImage) -> None:
        """Try out a pushed image."""

    @abstractmethod
    def sign(self, pushed: PushedImage) -> None:
        """Sign an image that this machine has built."""

    @abstractmethod
    def records(self, pushed: Sequence[PushedImage]) -> Sequence[RecordFile]:
        """The files that record the images, compared with those that are there now."""

    def publish(self, image_pushes: Sequence[ImagePush]) -> list[PushedImage]:
        """Publish ``image_pushes``, all or none.

        The last problem of an error says what state the tags are in; for an error that is not ours,
        as KeyboardInterrupt, that state is printed.
        """
        with ExitStack() as stack:
            try:
                pushed, before = self._upload(image_pushes)
                # The record and the tags of a push beside this one are both there, or neither.
                stack.enter_context(exclusive(self.lock))
                records = self.records(pushed)
                write_files(
                    {record.path: record.text for record in records},
                    before={record.path: record.before for record in records},
                )
            except BaseException as error:
                transfer.add_state(error)
                raise
            # Immutable tags first, so that every image that a moving tag names has one.
            after = {p.image_push.immutable: p.root for p in pushed if p.image_push.immutable}
            after |= {tag: image.root for image in pushed for tag in image.image_push.moving}
            mover = transfer.TagMover(self.repository, before, self._new)
            try:
                mover.move(after)
            except BaseException as error:
                if mover.moved:
                    transfer.add_state(error, transfer.MOVED)
                else:
                    _restore(records, error)
                raise
        return pushed

    def _upload(
        self, image_pushes: Sequence[ImagePush]
    ) -> tuple[list[PushedImage], dict[str, Document]]:
        """Upload, test and sign the images; with what each of their tags named at first."""
        before = transfer.read_tags(self.repository, [tag for p in image_pushes for tag in p.tags])
        self._check_immutable(image_pushes, before)
        pushed = [self._push(image_push, before) for image_push in image_pushes]
        for index in self.platform_indexes(pushed):
            before |= transfer.read_tags(self.repository, index.tags)
            pushed.append(self._push(index, before))
        for image in pushed:
            self.test(image)
        for image in pushed:
            if not image.taken:
                self.sign(image)
        return pushed, before

    def _push(self, image_push: ImagePush, before: Mapping[str, Document]) -> PushedImage:
        """Upload an image that the registry does not have, and read it back in any case."""
        existing = self._published.get(image_push.immutable)
        diff_ids = existing.diff_ids if existing else image_push.diff_ids
        if existing:
            tag = self.repository.at(image_push.immutable)
            console.say(f"{image_push.name}: {tag} exists already")
            digest = before[image_push.immutable].digest
        else:
            content = image_push.content()
            digest = content.root.digest
            self._new |= transfer.upload(self.repository, content)
        console.say(f"{image_push.name}: reading {digest} back")
        documents = transfer.read_back(self.repository, digest, diff_ids, self._read)
        taken = existing if existing and existing.config != image_push.config else None
        pushed = PushedImage(
            image_push=image_push, documents=tuple(documents), diff_ids=diff_ids, taken=taken
        )
        if taken:
            self.check_taken(pushed)
        return pushed

    def _check_immutable(
        self, image_pushes: Sequence[ImagePush], before: Mapping[str, Document]
    ) -> None:
        """Raise PublishError if an immutable tag names an image with another content key."""
        problems: list[Problem] = []
        for image_push in image_pushes:
            tag = image_push.immutable
            if tag not in before:
                continue
            try:
                image = _read_published(self.repository, before[tag], image_push.platforms[0])
            except PublishError as error:
                problems += error.problems
                continue
            if image.key != image_push.key:
                content = f"the content key {image.key}" if image.key else "no content key"
                at = self.repository.at(before[tag].digest)
                what = f"{self.repository.at(tag)} is another image, with {content}: {at}."
                problems.append(Problem(what=what, fix=_FIX))
            self._published[tag] = image
        if problems:
            raise PublishError(problems)


def _restore(records: Sequence[RecordFile], error: BaseException) -> None:
    """Take ``records`` back; why that fails is added to ``error``."""
    try:
        # Those that somebody else has replaced since stay.
        written = [r for r in records if r.path.exists() and read_text(r.path) == r.text]
        write_files(
            {record.path: record.before for record in written if record.before is not None},
            remove=[record.path for record in written if record.before is None],
        )
    except FileError as unwritten:
        transfer.add_state(error, f"The records could not be taken back: {unwritten}")
