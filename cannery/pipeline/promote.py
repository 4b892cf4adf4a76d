# SPDX-License-Identifier: Apache-2.0
"""``build.py promote``: the same image, to the digest, in another registry or under other tags."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cannery import console
from cannery.errors import Problem, PublishError, UsageError
from cannery.execute.registry.client import Repository
from cannery.execute.registry.tags import TagMove, TagMover, read_tags
from cannery.execute.registry.transfer import closure, copy, read_back
from cannery.pipeline.transaction import unmoved
from cannery.publish.oci import Document, Reference
from cannery.publish.records import Record
from cannery.publish.retention import subject_tags


@dataclass(frozen=True, kw_only=True)
class Promotion:
    """A copy from ``source`` to ``destination``; the references say what of it, and which tags."""

    source: Repository
    destination: Repository
    wanted: Reference
    place: Reference
    allow: Collection[str] = ()

    def run(self, records: Sequence[Record]) -> tuple[str, tuple[str, ...]]:
        """Copy, and return the digest, which is the same there, and the tags that name it there.

        Raises:
            PublishError: no record names the image, or a tag there must stay as it is.
            UsageError: nothing says which tags it is to have.
            CanneryError: anything else; the last problem says what became of the tags.
        """
        digest = self.source.resolve(self.wanted.version)
        if not digest:
            what = f"{self.wanted} does not exist."
            raise PublishError(Problem(what=what, fix="See what there is in releases/."))
        record = next((each for each in records if digest in each.digests), None)
        if record is None and "unrecorded" not in self.allow:
            what = f"no file in releases/ names {self.source.at(digest)}."
            fix = "It was not pushed from here. Add --allow unrecorded to copy it all the same."
            raise PublishError(Problem(what=what, fix=fix))
        tags = self._tags(record, digest)
        try:
            moves, new = self._bring(digest, tags, {each.tag for each in records})
        except BaseException as error:
            unmoved(error)
            raise
        TagMover(self.destination, new=new).move(moves)
        return digest, tags

    def _tags(self, record: Record | None, digest: str) -> tuple[str, ...]:
        if self.place.tag:
            return (self.place.tag,)
        if record and record.digest == digest:
            return (record.tag, *record.tags)
        if self.wanted.tag:
            return (self.wanted.tag,)
        what = f"nothing says which tag {self.place} is to have."
        raise UsageError(Problem(what=what, fix=f"Write {self.place}:TAG."))

    def _bring(
        self, digest: str, tags: Sequence[str], immutable: Collection[str]
    ) -> tuple[list[TagMove], frozenset[str]]:
        """Copy everything, and return what there is to move, and the digests that are new."""
        documents = closure(self.source, digest)
        found = {each.digest: each for each in documents}
        about = subject_tags(found, self.source.tags())
        signatures = {tag: closure(self.source, self.source.resolve(tag)) for tag in about}
        before = read_tags(self.destination, [*signatures, *tags])
        for tag in tags:
            if tag in immutable and tag in before and before[tag].digest != digest:
                what = f"{self.destination.at(tag)} is another image: {before[tag].digest}."
                raise PublishError(Problem(what=what, fix="What has that tag once, keeps it."))
        every = [*documents, *(each for inner in signatures.values() for each in inner)]
        new = {each.digest for each in every if not self.destination.resolve(each.digest)}
        copy(self.source, self.destination, every)
        console.say(f"reading {self.destination.at(digest)} back")
        seen: set[str] = set()
        for root in (digest, *(inner[-1].digest for inner in signatures.values())):
            read_back(self.destination, root, {}, seen)
        moves = [_move(tag, before, inner[-1]) for tag, inner in signatures.items()]
        return [*moves, *(_move(tag, before, found[digest]) for tag in tags)], frozenset(new)


def _move(tag: str, before: dict[str, Document], after: Document) -> TagMove:
    return TagMove(tag=tag, before=before.get(tag), after=after)
