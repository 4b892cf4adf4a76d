# SPDX-License-Identifier: Apache-2.0
"""Publishes images all or none: upload by digest, read back, test, record, and only then tags.

Until the tags move, nothing that has a name in the registry has changed, so a failure needs no
undoing. While they move, ``cannery.registry.tags`` undoes a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cannery.common import console
from cannery.common.errors import CanneryError, Problem, PublishError
from cannery.common.files import read_text, write_files
from cannery.image.content_key import LABEL
from cannery.registry.client import Repository
from cannery.registry.oci import ATTESTED, Document, manifest_contents
from cannery.registry.records import RecordFile
from cannery.registry.tags import UNMOVED, TagMove, TagMover, read_tags
from cannery.registry.transfer import OciContent, closure, read_back, upload


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


def read_published(repository: Repository, root: Document, platform: str) -> PublishedImage:
    """The image for ``platform`` in the index ``root``.

    Raises:
        PublishError: ``root`` is not an index of one image, for ``platform``.
    """
    documents = closure(repository, root.digest)
    what = f"{repository.at(root.digest)} has the tag of this image, and no push has made it."
    fix = "Find out who has pushed it, delete the tag in the registry, and push again."
    try:
        [manifest] = images_in(documents)
        entries = manifest_contents(root).manifests
        [_] = [e for e in entries if (e.digest, e.platform) == (manifest.digest, platform)]
        config, *layers = manifest_contents(manifest).blobs
        loaded = repository.read_config(config)
        labels = (loaded.get("config") or {}).get("Labels") or {}
        diff_ids = [str(each) for each in loaded["rootfs"]["diff_ids"]]
        pairs = zip([layer.digest for layer in layers], diff_ids, strict=True)
        return PublishedImage(
            config=config.digest,
            key=str(labels.get(LABEL, "")),
            content=content_of(loaded),
            diff_ids=dict(pairs),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise PublishError(Problem(what=what, fix=fix)) from error


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
    key: str
    config: str
    immutable: str
    moving: tuple[str, ...]
    diff_ids: Mapping[str, str]
    content: Callable[[], OciContent]

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


@dataclass(frozen=True, kw_only=True)
class PushHooks:
    """The steps between the upload and the tags.

    ``check_taken`` checks an image that was taken, ``platform_indexes`` makes indexes for several
    platforms from pushed images, ``test`` tries out a pushed image, ``sign`` signs one that this
    machine has built, and ``records`` gives the files that record them all.
    """

    check_taken: Callable[[PushedImage], None]
    platform_indexes: Callable[[Sequence[PushedImage]], Sequence[ImagePush]]
    test: Callable[[PushedImage], None]
    sign: Callable[[PushedImage], None]
    records: Callable[[Sequence[PushedImage]], Sequence[RecordFile]]


@dataclass
class Transaction:
    """A push into ``repository``."""

    repository: Repository
    hooks: PushHooks
    _read: set[str] = field(default_factory=set)
    _new: set[str] = field(default_factory=set)
    _published: dict[str, PublishedImage] = field(default_factory=dict)
    """Immutable tag to the image that the registry has under it already."""

    def run(self, image_pushes: Sequence[ImagePush]) -> list[PushedImage]:
        """Publish ``image_pushes``, all or none.

        The last problem of an error says what state the tags are in; for an error that is not ours,
        as KeyboardInterrupt, that state is printed.
        """
        try:
            before = read_tags(self.repository, [tag for each in image_pushes for tag in each.tags])
            self._check_immutable(image_pushes, before)
            pushed = [self._push(each, before) for each in image_pushes]
            for index in self.hooks.platform_indexes(pushed):
                before |= read_tags(self.repository, index.tags)
                pushed.append(self._push(index, before))
            for each in pushed:
                self.hooks.test(each)
            for each in pushed:
                if not each.taken:
                    self.hooks.sign(each)
            records = self.hooks.records(pushed)
        except BaseException as error:
            unmoved(error)
            raise
        self._finish(pushed, before, records)
        return pushed

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
            self._new |= {
                each.digest
                for each in content.documents
                if not self.repository.has_manifest(each.digest)
            }
            upload(self.repository, content)
        console.say(f"{image_push.name}: reading {digest} back")
        documents = read_back(self.repository, digest, diff_ids, self._read)
        taken = existing if existing and existing.config != image_push.config else None
        pushed = PushedImage(
            image_push=image_push, documents=tuple(documents), diff_ids=diff_ids, taken=taken
        )
        if taken:
            self.hooks.check_taken(pushed)
        return pushed

    def _check_immutable(
        self, image_pushes: Sequence[ImagePush], before: Mapping[str, Document]
    ) -> None:
        """Raise PublishError if an immutable tag names an image with another content key."""
        problems: list[Problem] = []
        for each in image_pushes:
            existing = before.get(each.immutable)
            if not existing:
                continue
            try:
                published = read_published(self.repository, existing, each.platforms[0])
            except PublishError as error:
                problems += error.problems
                continue
            if published.key != each.key:
                tag, at = each.immutable, self.repository.at(existing.digest)
                has = f"the content key {published.key}" if published.key else "no content key"
                what = f"{self.repository.at(tag)} is another image, with {has}: {at}."
                fix = "Find out who has pushed it, delete the tag in the registry, and push again."
                problems.append(Problem(what=what, fix=fix))
            self._published[each.immutable] = published
        if problems:
            raise PublishError(problems)

    def _finish(
        self,
        pushed: Sequence[PushedImage],
        before: Mapping[str, Document],
        records: Sequence[RecordFile],
    ) -> None:
        # Immutable tags first, so that every image that a moving tag names has an immutable one.
        tags = [(each.image_push.immutable, each.root) for each in pushed]
        tags += [(tag, each.root) for each in pushed for tag in each.image_push.moving]
        moves = [TagMove(tag=tag, before=before.get(tag), after=root) for tag, root in tags if tag]
        mover = TagMover(self.repository, new=frozenset(self._new))
        try:
            # A push beside this one may have recorded the same tag.
            write_files(
                {record.path: record.text for record in records},
                before={record.path: record.before for record in records},
            )
        except BaseException as error:
            unmoved(error)
            raise
        try:
            mover.move(moves)
        except BaseException:
            # Records that another push has replaced since stay.
            written = [r for r in records if r.path.exists() and read_text(r.path) == r.text]
            write_files(
                {record.path: record.before for record in written if record.before is not None},
                remove=[record.path for record in written if record.before is None],
            )
            raise


def unmoved(error: BaseException) -> None:
    """Add to ``error`` that no tag was moved; print it for an error that is not ours."""
    if isinstance(error, CanneryError):
        error.problems = (*error.problems, Problem(what=UNMOVED))
    else:
        console.say(UNMOVED)
