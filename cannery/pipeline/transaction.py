# SPDX-License-Identifier: Apache-2.0
"""Publishes images all or none: upload by digest, read back, test, record, and only then tags.

Until the tags move nothing that has a name in the registry has changed, so whatever goes wrong
needs no undoing; while they move, ``cannery.execute.registry.tags`` undoes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cannery import console
from cannery.errors import CanneryError, Problem, PublishError
from cannery.execute.registry.client import Repository
from cannery.execute.registry.tags import UNMOVED, TagMove, TagMover, read_tags
from cannery.execute.registry.transfer import OciContent, closure, read_back, upload
from cannery.files import write_files
from cannery.publish.oci import Document, manifest_contents

ATTESTED = "unknown/unknown"
"""The platform of what is in an index and is no image."""


@dataclass(frozen=True, kw_only=True)
class ImagePush:
    """One image on its way, for ``platforms``.

    ``seal`` makes all of it, once it is known that it is not there yet. ``configs`` are the digests
    of the configs, which tell an image however its layers are compressed; ``diff_ids`` says what
    blobs unpack to. ``immutable`` is empty for what has moving tags only.
    """

    name: str
    platforms: tuple[str, ...]
    configs: frozenset[str]
    immutable: str
    moving: tuple[str, ...]
    diff_ids: Mapping[str, str]
    seal: Callable[[], OciContent]

    @property
    def tags(self) -> tuple[str, ...]:
        return (*([self.immutable] if self.immutable else []), *self.moving)


@dataclass(frozen=True, kw_only=True)
class PushedImage:
    """A shipment that is in the registry, whole; ``documents`` are all of it, ``root`` the last."""

    image_push: ImagePush
    documents: tuple[Document, ...]

    @property
    def root(self) -> Document:
        return self.documents[-1]


@dataclass(frozen=True, kw_only=True)
class PushHooks:
    """What is done with what has arrived before any tag moves.

    ``platform_indexes`` makes shipments of several that have arrived; ``test`` tries one out of the
    registry, ``sign`` signs one, and ``records`` gives the files that tell of it.
    """

    platform_indexes: Callable[[Sequence[PushedImage]], Sequence[ImagePush]]
    test: Callable[[PushedImage], None]
    sign: Callable[[PushedImage], None]
    records: Callable[[Sequence[PushedImage]], Mapping[Path, str]]


@dataclass
class Transaction:
    """A push into ``repository``."""

    repository: Repository
    duties: PushHooks
    _read: set[str] = field(default_factory=set)
    _new: set[str] = field(default_factory=set)

    def run(self, shipments: Sequence[ImagePush]) -> list[PushedImage]:
        """Publish ``shipments``, all or none.

        Raises:
            PublishError: an immutable tag names something else, or a tag was moved meanwhile.
            CanneryError: anything else; its last problem says what became of the tags.
            KeyboardInterrupt: likewise, after saying so.
        """
        try:
            before = read_tags(self.repository, [tag for each in shipments for tag in each.tags])
            _check_immutable(self.repository, shipments, before)
            arrived = [self._bring(each, before) for each in shipments]
            for more in self.duties.platform_indexes(arrived):
                before |= read_tags(self.repository, more.tags)
                arrived.append(self._bring(more, before))
            for each in arrived:
                self.duties.test(each)
            for each in arrived:
                self.duties.sign(each)
            records = self.duties.records(arrived)
        except BaseException as error:
            unmoved(error)
            raise
        self._finish(arrived, before, records)
        return arrived

    def _bring(self, image_push: ImagePush, before: Mapping[str, Document]) -> PushedImage:
        there = before.get(image_push.immutable)
        if there:
            console.say(f"{image_push.name}: {self.repository.at(image_push.immutable)} is there")
            digest = there.digest
        else:
            bundle = image_push.seal()
            digest = bundle.root.digest
            self._new |= {
                each.digest for each in bundle.documents if not self.repository.resolve(each.digest)
            }
            upload(self.repository, bundle)
        console.say(f"{image_push.name}: reading {digest} back")
        documents = read_back(self.repository, digest, image_push.diff_ids, self._read)
        return PushedImage(image_push=image_push, documents=tuple(documents))

    def _finish(
        self,
        arrived: Sequence[PushedImage],
        before: Mapping[str, Document],
        records: Mapping[Path, str],
    ) -> None:
        # First what never moves again, so that a moving tag never names what has no other.
        first = [
            (each.image_push.immutable, each.root) for each in arrived if each.image_push.immutable
        ]
        then = [(tag, each.root) for each in arrived for tag in each.image_push.moving]
        moves = [
            TagMove(tag=tag, before=before.get(tag), after=after) for tag, after in [*first, *then]
        ]
        mover = TagMover(self.repository, new=frozenset(self._new))
        try:
            write_files(records)
        except BaseException as error:
            unmoved(error)
            raise
        try:
            mover.move(moves)
        except BaseException:
            write_files({}, remove=records)
            raise


def unmoved(error: BaseException) -> None:
    """Let ``error``, or where it has no words of its own the console, say that no tag moved."""
    if isinstance(error, CanneryError):
        error.problems = (*error.problems, Problem(what=UNMOVED))
    else:
        console.say(UNMOVED)


def _check_immutable(
    repository: Repository, shipments: Sequence[ImagePush], before: Mapping[str, Document]
) -> None:
    """Raise PublishError where an immutable tag names other images than those it is to name."""
    problems = []
    for each in shipments:
        there = before.get(each.immutable)
        if there and _configs(repository, there) != each.configs:
            what = (
                f"{repository.at(each.immutable)} is another image than the one here, built from "
                f"the same: {there.digest}."
            )
            fix = f"Use that one: docker pull {repository.at(there.digest)}"
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
    """Those of ``documents``, of which the last is an index, that are images in it."""
    entries = manifest_contents(documents[-1]).manifests
    wanted = {each.digest for each in entries if each.platform != ATTESTED}
    return [each for each in documents if each.digest in wanted]
