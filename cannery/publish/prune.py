# SPDX-License-Identifier: Apache-2.0
"""``build.py prune``: finds images in a registry that nothing needs, and deletes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from cannery.common import console
from cannery.common.errors import Problem, PublishError
from cannery.image.plan import NAMESPACE
from cannery.image.simulated import LABEL as SIMULATED
from cannery.matrix.matrix import Matrix
from cannery.publish.policy import Publishing
from cannery.registry.client import Repository
from cannery.registry.errors import RegistryError
from cannery.registry.oci import ManifestContents, manifest_contents
from cannery.registry.records import Record

_CREATED = "org.opencontainers.image.created"


def stored(repository: Repository) -> list[Stored]:
    """Every digest in ``repository`` that has a tag, in the order of its first tag.

    Raises:
        RegistryError: the registry does not answer or refuses.
    """
    tags: dict[str, list[str]] = {}
    for tag in repository.tags():
        if digest := repository.resolve(tag):
            tags.setdefault(digest, []).append(tag)
    return [_stored(repository, digest, names) for digest, names in tags.items()]


def _stored(repository: Repository, digest: str, tags: Sequence[str]) -> Stored:
    found: dict[str, ManifestContents] = {}
    broken = _read(repository, digest, found)
    annotations = found[digest].annotations if digest in found else {}
    return Stored(
        digest=digest,
        tags=tuple(tags),
        needs=frozenset({digest, *found}),
        target=annotations.get(f"{NAMESPACE}.target", ""),
        created=annotations.get(_CREATED, ""),
        simulated=annotations.get(SIMULATED) == "true",
        broken=broken,
    )


def _read(repository: Repository, digest: str, found: dict[str, ManifestContents]) -> str:
    """Read the manifest ``digest`` and those in it into ``found``; return what is wrong with one.

    One that lacks a part must not keep the others from being read.
    """
    document = repository.manifest(digest)
    if document is None:
        return f"it lacks {digest}; push it again, or delete its tag"
    try:
        contents = manifest_contents(document)
    except ValueError as error:
        return str(error)
    found[digest] = contents
    return next(filter(None, [_read(repository, e.digest, found) for e in contents.manifests]), "")


def moving_tags(publishing: Publishing, matrix: Matrix) -> set[str]:
    """Every tag that a push moves."""
    found = set()
    for simulate in (False, True):
        for target in matrix.targets:
            found |= {*publishing.moving_tags(target, simulate=simulate)}
        found |= {publishing.index_tag(tag, simulate=simulate) for tag in publishing.indexes}
    return found


def prunable(
    repository: Repository,
    records: Sequence[Record],
    moving: Iterable[str],
    keep: int,
    is_own: Callable[[str, str], bool],
) -> tuple[list[Stored], Decision]:
    """Everything in ``repository``, and the decision about what to delete; see that for arguments.

    Raises:
        RegistryError: the registry does not answer or refuses.
    """
    found = stored(repository)
    return found, choose_deletions(found, records, moving, keep, is_own)


def text_of(found: Sequence[Stored], decision: Decision) -> str:
    """A line for each digest: whether it is kept or deleted, and why."""
    lines = []
    for each in found:
        what = ", ".join(each.tags)
        why = decision.kept.get(each.digest)
        lines.append(f"keep    {what}: {why}" if why else f"delete  {what}  {each.digest}")
    total = f"{len(decision.gone)} to delete, {len(decision.kept)} to keep"
    return "\n".join([*lines, "", total])


def delete(repository: Repository, decision: Decision) -> None:
    """Delete the manifests that ``decision`` names.

    Raises:
        PublishError: the registry does not allow deletion, or a tag was moved meanwhile.
        RegistryError: the registry fails; the last problem says how many were deleted.
    """
    for each in decision.gone:
        for tag in each.tags:
            now = repository.resolve(tag)
            if now != each.digest:
                what = f"{repository.at(tag)} named {each.digest} and names {now or 'nothing'} now"
                fix = "Somebody else has moved it. Nothing was deleted; run this again."
                raise PublishError(Problem(what=f"{what}.", fix=fix))
    for number, digest in enumerate(decision.manifests):
        try:
            possible = repository.delete(digest)
        except RegistryError as error:
            said = f"{number} of {len(decision.manifests)} manifests were deleted before."
            error.problems = (*error.problems, Problem(what=said))
            raise
        if not possible:
            what = f"{repository.host} does not allow deletion."
            fix = "Enable it in the registry; docker-registry: storage: delete: enabled: true."
            raise PublishError(Problem(what=what, fix=fix))
    console.say(f"deleted {len(decision.manifests)} manifests")


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
