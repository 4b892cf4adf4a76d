# SPDX-License-Identifier: Apache-2.0
"""``build.py promote``: copies an image, with the same digest, to another place or other tags."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from cannery.common import console
from cannery.common.errors import Problem, PublishError, UsageError
from cannery.common.references import Reference
from cannery.publish import cosign
from cannery.publish.policy import Publishing
from cannery.registry import transfer
from cannery.registry.client import Repository
from cannery.registry.oci import ATTESTED, CONFIG, Descriptor, Document, manifest_contents
from cannery.registry.records import Record

_REFERRERS = ("", ".sig", ".att", ".sbom")
"""Ends of tags that begin with a digest: the OCI fallback for referrers, and cosign's."""


@dataclass(frozen=True, kw_only=True)
class Promotion:
    """A copy of ``image`` of ``source`` to ``place`` in ``destination``.

    ``publishing`` says which tags a target has now, ``allow`` may hold ``unrecorded``, for images
    that no record names, and ``key`` is the public key of the signature that the image must have.
    """

    source: Repository
    destination: Repository
    image: Reference
    place: Reference
    publishing: Publishing
    allow: Collection[str] = ()
    key: str = ""

    def run(self, records: Sequence[Record]) -> tuple[str, tuple[str, ...]]:
        """Copy the image, and return its digest and the tags that name it in the destination.

        Raises:
            PublishError: no record names the image, or an immutable tag names another image.
            EngineError: the image is not signed with the key.
            UsageError: the destination has no tag, and neither a record nor the source names one.
            CanneryError: anything else; the last problem says what state the tags are in.
        """
        digest = self.source.resolve(self.image.version)
        if not digest:
            what = f"{self.image} does not exist."
            raise PublishError(
                Problem(what=what, fix="The records in releases/ name the published images.")
            )
        # An index for several platforms may hold an image that has a record, too.
        matches = [record for record in records if digest in record.digests]
        record = max(matches, key=lambda match: match.digest == digest, default=None)
        is_recorded = record is not None or self._is_of_recorded(digest, records)
        if not is_recorded and "unrecorded" not in self.allow:
            what = f"no record in releases/ names {self.source.at(digest)}."
            fix = "It was not pushed from this project. Add --allow unrecorded to copy it anyway."
            raise PublishError(Problem(what=what, fix=fix))
        tags = self._tags(record, digest)
        if self.key:
            cosign.verify(self.source.at(digest), self.key, cosign.connection(self.source))
            console.say(f"{self.source.at(digest)} is signed with {self.key}")
        try:
            mover, after = self._copy(digest, tags, {record.tag for record in records})
        except BaseException as error:
            transfer.add_state(error)
            raise
        mover.move(after)
        return digest, tags

    def _is_of_recorded(self, digest: str, records: Sequence[Record]) -> bool:
        """Whether it is an index for several platforms, and a record names the image for each."""
        known = {
            (platform, image.digest)
            for record in records
            for platform, image in record.platforms.items()
        }
        root = transfer.closure(self.source, digest)[-1]
        entries = manifest_contents(root).manifests
        images = {(each.platform, each.digest) for each in entries if each.platform != ATTESTED}
        return bool(images) and images <= known

    def _tags(self, record: Record | None, digest: str) -> tuple[str, ...]:
        if self.place.tag:
            return (self.place.tag,)
        if record and record.digest == digest:
            current = self.publishing.moving_tags(record.target, simulate=record.simulated)
            if lost := [tag for tag in record.tags if tag not in current]:
                console.say(f"not moved, because {record.target} has lost it: {', '.join(lost)}")
            return (record.tag, *(tag for tag in record.tags if tag in current))
        if self.image.tag:
            return (self.image.tag,)
        what = f"{self.place} has no tag, and neither a record nor {self.image} names one."
        raise UsageError(Problem(what=what, fix=f"Write {self.place}:TAG."))

    def _copy(
        self, digest: str, tags: Sequence[str], immutable: Collection[str]
    ) -> tuple[transfer.TagMover, dict[str, Document]]:
        """Copy everything, and return the tags to move to the documents that are new."""
        image = transfer.closure(self.source, digest)
        subjects = [document.digest.replace(":", "-", 1) for document in image]
        possible = [subject + end for subject in subjects for end in _REFERRERS]
        referrers = transfer.read_tags(self.source, possible)
        before = transfer.read_tags(self.destination, [*referrers, *tags])
        referrers = self._to_copy(referrers, before)
        for tag in tags:
            if tag in immutable and tag in before and before[tag].digest != digest:
                what = f"{self.destination.at(tag)} names another image: {before[tag].digest}."
                raise PublishError(Problem(what=what, fix="The tag is immutable: choose another."))
        new: set[str] = set()
        read: set[str] = set()
        for root in (image[-1], *referrers.values()):
            documents = transfer.closure(self.source, root.digest)
            new |= transfer.copy(self.source, self.destination, documents)
        console.say(f"reading {self.destination.at(digest)} back")
        for root in (image[-1], *referrers.values()):
            transfer.read_back(self.destination, root.digest, {}, read)
        after = {**referrers, **dict.fromkeys(tags, image[-1])}
        return transfer.TagMover(self.destination, before, new), after

    def _to_copy(
        self, referrers: Mapping[str, Document], before: Mapping[str, Document]
    ) -> dict[str, Document]:
        """``referrers`` without those in whose place the destination has others, which stay."""
        chosen: dict[str, Document] = {}
        for tag, document in referrers.items():
            ours = _entries(document)
            theirs = _entries(before[tag]) if tag in before else frozenset()
            if theirs <= ours:
                chosen[tag] = document
            elif not ours <= theirs:
                what = f"{self.destination.at(tag)} stays, because it has what the source lacks"
                console.say(f"{what}; so not all of {self.source.at(tag)} is copied", "warning")
        return chosen


def _entries(referrer: Document) -> frozenset[Descriptor]:
    """The signatures, attestations or manifests that a tag for a digest has.

    Two signatures may have one digest: they are in the annotations.
    """
    contents = manifest_contents(referrer)
    blobs = (blob for blob in contents.blobs if blob.media_type != CONFIG)
    return frozenset((*contents.manifests, *blobs))
