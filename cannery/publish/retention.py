# SPDX-License-Identifier: Apache-2.0
"""Which images a registry may lose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cannery.publish.records import Record

_OF_A_DIGEST = re.compile(r"sha256-(?P<hex>[0-9a-f]{64})(\.[a-z]+)?")
"""The tags under which cosign, and what lists referrers, keep what is about a digest."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What one digest of a registry is, with its tags.

    ``needs`` are the digests of it and of all manifests in it. ``target`` is empty for what no
    push has made; ``created`` is a time that can be sorted.
    """

    digest: str
    tags: tuple[str, ...]
    needs: frozenset[str]
    target: str
    created: str

    @property
    def subject(self) -> str:
        """The digest that this is about, if it is a signature or the like."""
        matches = (_OF_A_DIGEST.fullmatch(tag) for tag in self.tags)
        return next((f"sha256:{match['hex']}" for match in matches if match), "")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What goes, and why each of the others stays.

    ``manifests`` are the digests to delete, each before those that it needs.
    """

    gone: tuple[Stored, ...]
    kept: Mapping[str, str]
    manifests: tuple[str, ...]


def subject_tags(digests: Iterable[str], tags: Iterable[str]) -> list[str]:
    """Those of ``tags`` under which something is kept that is about one of ``digests``."""
    wanted = {digest.replace(":", "-", 1) for digest in digests}
    return [tag for tag in tags if _OF_A_DIGEST.fullmatch(tag) and tag[:71] in wanted]


def choose_deletions(
    stored: Sequence[Stored], records: Sequence[Record], moving: Iterable[str], keep: int
) -> Decision:
    """What of ``stored`` nothing needs any more.

    ``moving`` are the tags that a push moves; of what else there is of each target the ``keep``
    newest stay.
    """
    recorded = {digest: record.tag for record in records for digest in record.digests}
    names = {record.tag: record.tag for record in records}
    in_use = {*moving}
    kept: dict[str, str] = {}
    for each in stored:
        if why := _reason(each, recorded, names, in_use):
            kept[each.digest] = why
    others = [each for each in stored if each.digest not in kept and not each.subject]
    for target in {each.target for each in others}:
        own = [each for each in others if each.target == target]
        own.sort(key=lambda each: (each.created, each.digest), reverse=True)
        for each in own[:keep]:
            kept[each.digest] = f"it is one of the {keep} newest of {target}"
    needed = _spread(stored, kept, {*recorded})
    gone = tuple(each for each in stored if each.digest not in kept)
    # What holds others goes first, so that what is left is never an index without its images.
    roots = [each.digest for each in gone]
    inner = sorted({digest for each in gone for digest in each.needs} - {*roots})
    manifests = tuple(digest for digest in [*roots, *inner] if digest not in needed)
    return Decision(gone=gone, kept=kept, manifests=manifests)


def _spread(stored: Sequence[Stored], kept: dict[str, str], needed: set[str]) -> set[str]:
    """Add to ``kept`` what that needs and what is about it, and return every digest needed."""
    before = -1
    while before < len(kept) + len(needed):
        before = len(kept) + len(needed)
        for each in stored:
            if each.digest in kept:
                needed |= each.needs
            elif each.digest in needed:
                kept[each.digest] = "an image that stays needs it"
            elif each.subject in needed:
                kept[each.digest] = f"it is about {each.subject}, which stays"
    return needed


def _reason(
    each: Stored, recorded: Mapping[str, str], names: Mapping[str, str], in_use: set[str]
) -> str:
    """Why ``each`` stays whatever else there is; empty where nothing says so."""
    record = next((recorded[digest] for digest in sorted(each.needs) if digest in recorded), "")
    record = record or next((names[tag] for tag in each.tags if tag in names), "")
    if record:
        return f"the record of {record} names it"
    if used := sorted(in_use.intersection(each.tags)):
        return f"{', '.join(used)} names it now"
    if not each.target and not each.subject:
        return "build.py push has not made it"
    return ""
