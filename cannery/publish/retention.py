# SPDX-License-Identifier: Apache-2.0
"""Decides which images in a registry can be deleted."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from cannery.registry.records import Record

_OF_A_DIGEST = re.compile(r"sha256-(?P<hex>[0-9a-f]{64})(\.[a-z]+)?")
"""Tags of signatures and other referrers of a digest: cosign's, and the OCI fallback."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """One digest in a registry, with its tags.

    ``needs`` are its digest and those of all manifests in it. ``target`` is empty for an image that
    ``push`` has not made; ``created`` is a time as in ``2026-11-21T12:00:00Z``. ``broken`` says
    what it lacks, and is empty if it is whole.
    """

    digest: str
    tags: tuple[str, ...]
    needs: frozenset[str]
    target: str
    created: str
    simulated: bool = False
    broken: str = ""

    @property
    def kind(self) -> tuple[str, bool]:
        """What it is compared with to find the newest."""
        return self.target, self.simulated

    @property
    def subject(self) -> str:
        """The digest that this refers to, if it is a signature or another referrer."""
        matches = (_OF_A_DIGEST.fullmatch(tag) for tag in self.tags)
        return next((f"sha256:{match['hex']}" for match in matches if match), "")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What to delete, and the reason to keep each of the others, by digest.

    ``manifests`` are the digests to delete, each before those that it needs.
    """

    gone: tuple[Stored, ...]
    kept: Mapping[str, str]
    manifests: tuple[str, ...]


def subject_tags(digests: Iterable[str], tags: Iterable[str]) -> list[str]:
    """The tags of signatures and other referrers of ``digests``."""
    wanted = {digest.replace(":", "-", 1) for digest in digests}
    return [tag for tag in tags if _OF_A_DIGEST.fullmatch(tag) and tag[:71] in wanted]


def choose_deletions(
    stored: Sequence[Stored],
    records: Sequence[Record],
    moving: Iterable[str],
    keep: int,
    is_own: Callable[[str, str], bool],
) -> Decision:
    """Decide which of ``stored`` nothing needs any more.

    ``moving`` are the tags that a push moves; ``is_own`` says whether a push gives a tag to the
    images of a target. Of each target's other images, the ``keep`` newest stay, and as many
    simulated ones.
    """
    recorded = {digest: record.tag for record in records for digest in record.digests}
    names = {record.tag: record.tag for record in records}
    in_use = {*moving}
    given = {*names, *(tag for record in records for tag in record.tags)}
    kept: dict[str, str] = {}
    for each in stored:
        if why := _reason(each, recorded, names, in_use) or _of_a_person(each, given, is_own):
            kept[each.digest] = why
    others = [each for each in stored if each.digest not in kept and not each.subject]
    others.sort(key=lambda each: (each.kind, each.created, each.digest), reverse=True)
    for (target, simulated), own in groupby(others, key=lambda each: each.kind):
        for each in islice(own, keep):
            name = f"{target} (simulated)" if simulated else target
            kept[each.digest] = f"it is one of the {keep} newest of {name}"
    needed = _spread(stored, kept, {*recorded})
    gone = tuple(each for each in stored if each.digest not in kept)
    # Indexes first, so that an interrupted run leaves no index without its images.
    roots = [each.digest for each in gone]
    inner = sorted({digest for each in gone for digest in each.needs} - {*roots})
    manifests = tuple(digest for digest in [*roots, *inner] if digest not in needed)
    return Decision(gone=gone, kept=kept, manifests=manifests)


def _spread(stored: Sequence[Stored], kept: dict[str, str], needed: set[str]) -> set[str]:
    """Add to ``kept`` what it needs and what refers to it; return all digests that are needed."""
    before = -1
    while before < len(kept) + len(needed):
        before = len(kept) + len(needed)
        for each in stored:
            if each.digest in kept:
                needed |= each.needs
            elif each.digest in needed:
                kept[each.digest] = "an image that is kept needs it"
            elif each.subject in needed:
                kept[each.digest] = f"it refers to {each.subject}, which is kept"
    return needed


def _reason(
    each: Stored, recorded: Mapping[str, str], names: Mapping[str, str], in_use: set[str]
) -> str:
    """The reason to keep ``each`` by itself; empty if there is none."""
    record = next((recorded[digest] for digest in sorted(each.needs) if digest in recorded), "")
    record = record or next((names[tag] for tag in each.tags if tag in names), "")
    if record:
        return f"the record of {record} names it"
    if used := sorted(in_use.intersection(each.tags)):
        return f"the moving tag {', '.join(used)} names it"
    if not each.target and not each.subject:
        return "build.py push has not made it"
    return each.broken


def _of_a_person(each: Stored, given: Collection[str], is_own: Callable[[str, str], bool]) -> str:
    """The reason to keep ``each`` because of its tags; empty if a push has set all of them."""
    others = [
        tag
        for tag in sorted(each.tags)
        if tag not in given and not _OF_A_DIGEST.fullmatch(tag) and not is_own(tag, each.target)
    ]
    return f"build.py push has not set the tag {', '.join(others)}" if others else ""
