# SPDX-License-Identifier: Apache-2.0
"""Publishes images all or none: upload by digest, read back, test, record, and only then tags.

Until the tags move, nothing that has a name in the registry has changed, so a failure needs no
undoing. While they move, ``cannery.registry.tags`` undoes a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from cannery.common import console
from cannery.common.errors import CanneryError, Problem, PublishError
from cannery.common.files import read_text, write_files
from cannery.registry.client import Repository
from cannery.registry.oci import ATTESTED, Document, manifest_contents
from cannery.registry.records import RecordFile
from cannery.registry.tags import UNMOVED, TagMove, TagMover, read_tags
from cannery.registry.transfer import OciContent, closure, read_back, upload


@dataclass(frozen=True, kw_only=True)
class ImagePush:
    """One image to push, for ``platforms``.

    ``configs`` are the digests of its configs, which identify an image however its layers are
    compressed; ``diff_ids`` maps each layer's digest to the digest of what it unpacks to.
    ``immutable`` is empty for an image that has moving tags only. ``content`` makes the blobs and
    manifests; it is called only if the registry does not have the image yet.
    """

    name: str
    platforms: tuple[str, ...]
    configs: frozenset[str]
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
    of them, is what people pull.
    """

    image_push: ImagePush
    documents: tuple[Document, ...]

    @property
    def root(self) -> Document:
        return self.documents[-1]


@dataclass(frozen=True, kw_only=True)
class PushHooks:
    """The steps between the upload and the tags.

    ``platform_indexes`` makes indexes for several platforms from pushed images, ``test`` tries out
    a pushed image, ``sign`` signs one, and ``records`` gives the files that record them all.
    """

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

    def run(self, image_pushes: Sequence[ImagePush]) -> list[PushedImage]:
        """Publish ``image_pushes``, all or none.

        Raises:
            PublishError: an immutable tag names another image, or somebody has moved a tag.
            CanneryError: anything else; its last problem says what state the tags are in.
            KeyboardInterrupt: likewise, after printing that state.
        """
        try:
            before = read_tags(self.repository, [tag for each in image_pushes for tag in each.tags])
            _check_immutable(self.repository, image_pushes, before)
            pushed = [self._push(each, before) for each in image_pushes]
            for index in self.hooks.platform_indexes(pushed):
                before |= read_tags(self.repository, index.tags)
                pushed.append(self._push(index, before))
            for each in pushed:
                self.hooks.test(each)
            for each in pushed:
                self.hooks.sign(each)
            records = self.hooks.records(pushed)
        except BaseException as error:
            unmoved(error)
            raise
        self._finish(pushed, before, records)
        return pushed

    def _push(self, image_push: ImagePush, before: Mapping[str, Document]) -> PushedImage:
        """Upload an image that the registry does not have, and read it back in any case."""
        existing = before.get(image_push.immutable)
        if existing:
            tag = self.repository.at(image_push.immutable)
            console.say(f"{image_push.name}: {tag} exists already")
            digest = existing.digest
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
        documents = read_back(self.repository, digest, image_push.diff_ids, self._read)
        return PushedImage(image_push=image_push, documents=tuple(documents))

    def _finish(
        self,
        pushed: Sequence[PushedImage],
        before: Mapping[str, Document],
        records: Sequence[RecordFile],
    ) -> None:
        # Immutable tags first, so that every image that a moving tag names has an immutable one.
        first = [
            (each.image_push.immutable, each.root) for each in pushed if each.image_push.immutable
        ]
        then = [(tag, each.root) for each in pushed for tag in each.image_push.moving]
        moves = [
            TagMove(tag=tag, before=before.get(tag), after=after) for tag, after in [*first, *then]
        ]
        mover = TagMover(self.repository, new=frozenset(self._new))
        try:
            # A push beside this one may have recorded the same tag.
            write_files(
                {each.path: each.text for each in records},
                before={each.path: each.before for each in records},
            )
        except BaseException as error:
            unmoved(error)
            raise
        try:
            mover.move(moves)
        except BaseException:
            _put_back(records)
            raise


def _put_back(records: Sequence[RecordFile]) -> None:
    """Undo the writing of ``records``, but for those that another push has replaced since."""
    own = [each for each in records if each.path.exists() and read_text(each.path) == each.text]
    write_files(
        {each.path: each.before for each in own if each.before is not None},
        remove=[each.path for each in own if each.before is None],
    )


def unmoved(error: BaseException) -> None:
    """Add to ``error`` that no tag was moved; print it for an error that is not ours."""
    if isinstance(error, CanneryError):
        error.problems = (*error.problems, Problem(what=UNMOVED))
    else:
        console.say(UNMOVED)


def _check_immutable(
    repository: Repository, image_pushes: Sequence[ImagePush], before: Mapping[str, Document]
) -> None:
    """Raise PublishError if an immutable tag names another image already."""
    problems = []
    for each in image_pushes:
        existing = before.get(each.immutable)
        if existing and _configs(repository, existing) != each.configs:
            what = (
                f"{repository.at(each.immutable)} is another image, built earlier from the same "
                f"files: {existing.digest}."
            )
            fix = f"Use that image: docker pull {repository.at(existing.digest)}"
            problems.append(Problem(what=what, fix=fix))
    if problems:
        raise PublishError(problems)


def _configs(repository: Repository, root: Document) -> set[str]:
    """The digests of the configs of the images in ``root``."""
    return {
        blobs[0].digest
        for each in images_in(closure(repository, root.digest))
        if (blobs := manifest_contents(each).blobs)
    }


def images_in(documents: Sequence[Document]) -> list[Document]:
    """The manifests of images among ``documents``, the last of which is their index."""
    entries = manifest_contents(documents[-1]).manifests
    wanted = {each.digest for each in entries if each.platform != ATTESTED}
    return [each for each in documents if each.digest in wanted]
