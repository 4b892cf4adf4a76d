# SPDX-License-Identifier: Apache-2.0
"""``build.py prune``: what a registry has, what of it nothing needs, and its deletion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cannery import console
from cannery.errors import Problem, PublishError
from cannery.execute.registry.client import Repository
from cannery.execute.registry.http import RegistryError
from cannery.execute.registry.transfer import closure
from cannery.image.render import NAMESPACE
from cannery.model import Matrix
from cannery.publish.oci import manifest_contents
from cannery.publish.policy import Publishing
from cannery.publish.records import Record
from cannery.publish.retention import Decision, Stored, choose_deletions

_CREATED = "org.opencontainers.image.created"


def stored(repository: Repository) -> list[Stored]:
    """Everything in ``repository`` that has a tag, by its first tag.

    Raises:
        RegistryError: the registry does not say.
    """
    tags: dict[str, list[str]] = {}
    for tag in repository.tags():
        if digest := repository.resolve(tag):
            tags.setdefault(digest, []).append(tag)
    return [_stored(repository, digest, names) for digest, names in tags.items()]


def _stored(repository: Repository, digest: str, tags: Sequence[str]) -> Stored:
    documents = closure(repository, digest)
    annotations = manifest_contents(documents[-1]).annotations
    return Stored(
        digest=digest,
        tags=tuple(tags),
        needs=frozenset(each.digest for each in documents),
        target=annotations.get(f"{NAMESPACE}.target", ""),
        created=annotations.get(_CREATED, ""),
    )


def moving_tags(publishing: Publishing, matrix: Matrix) -> set[str]:
    """Every tag that a push moves."""
    found = set()
    for simulate in (False, True):
        for target in matrix.targets:
            found |= {*publishing.moving_tags(target, simulate=simulate)}
        found |= {publishing.index_tag(tag, simulate=simulate) for tag in publishing.indexes}
    return found


def prunable(
    repository: Repository, records: Sequence[Record], moving: Iterable[str], keep: int
) -> tuple[list[Stored], Decision]:
    """What there is, and what of it may go.

    Raises:
        RegistryError: the registry does not say.
    """
    found = stored(repository)
    return found, choose_deletions(found, records, moving, keep)


def text_of(found: Sequence[Stored], decision: Decision) -> str:
    """A line for everything that there is: what becomes of it, and why."""
    lines = []
    for each in found:
        what = ", ".join(each.tags)
        why = decision.kept.get(each.digest)
        lines.append(f"keep    {what}: {why}" if why else f"delete  {what}  {each.digest}")
    total = f"{len(decision.gone)} to delete, {len(decision.kept)} to keep"
    return "\n".join([*lines, "", total])


def delete(repository: Repository, decision: Decision) -> None:
    """Delete what ``decision`` says.

    Raises:
        PublishError: the registry deletes nothing, or a tag was moved meanwhile.
        RegistryError: the registry does not do it; it says how much is deleted.
    """
    for each in decision.gone:
        for tag in each.tags:
            now = repository.resolve(tag)
            if now != each.digest:
                what = f"{repository.at(tag)} named {each.digest}, and names {now or 'nothing'} now"
                fix = "Somebody else is at work there. Nothing was deleted; run it again."
                raise PublishError(Problem(what=f"{what}.", fix=fix))
    for number, digest in enumerate(decision.manifests):
        try:
            possible = repository.delete(digest)
        except RegistryError as error:
            said = f"{number} of {len(decision.manifests)} manifests were deleted before that."
            error.problems = (*error.problems, Problem(what=said))
            raise
        if not possible:
            what = f"{repository.host} lets nobody delete: it answers 405."
            fix = "Whoever runs it can allow it; docker-registry: storage: delete: enabled: true."
            raise PublishError(Problem(what=what, fix=fix))
    console.say(f"deleted {len(decision.manifests)} manifests")
