# SPDX-License-Identifier: Apache-2.0
"""``build.py prune``: finds images in a registry that nothing needs, and deletes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cannery.common import console
from cannery.common.errors import Problem, PublishError
from cannery.image.render import NAMESPACE
from cannery.image.simulated import LABEL as SIMULATED
from cannery.matrix.matrix import Matrix
from cannery.publish.policy import Publishing
from cannery.publish.retention import Decision, Stored, choose_deletions
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
