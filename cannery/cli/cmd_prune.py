# SPDX-License-Identifier: Apache-2.0
"""``build.py prune``: delete from a registry what nothing needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command, Given
from cannery.cli.common import existing, read
from cannery.common import console
from cannery.common.option import OptionSet, flag, number, option
from cannery.common.references import parse_reference
from cannery.matrix.project import Project
from cannery.options import REGISTRY, REGISTRY_CA
from cannery.publish.policy import load
from cannery.publish.prune import delete, moving_tags, prunable, text_of
from cannery.registry.client import Repository
from cannery.registry.records import read_records


@dataclass(frozen=True, kw_only=True)
class PruneOptions(OptionSet):
    """What a registry keeps."""

    registry: str = REGISTRY.field()
    keep: int = option(
        "keep the N newest images of each target that no file in releases/ records",
        default=3,
        metavar="N",
        parse=number(0, 999),
    )
    yes: bool = flag("delete; without it, only show what would be deleted")
    ca: Path | None = REGISTRY_CA.field()


COMMAND = Command(
    description="Shows every image in the registry, whether it is kept, and why; deletes the "
    "others with --yes. Images that a file in releases/ records, images with a tag that "
    "'build.py push' moves, and everything that these refer to are always kept. See "
    "docs/publish.md.",
    reads="the registry, matrix.yaml, publish.yaml and releases/",
    writes="nothing; with --yes it deletes images from the registry",
    example="prune --registry registry.example.com --keep 2",
    options=(PruneOptions,),
)


def run(given: Given, project: Project) -> int:
    """Show what would be deleted and why the rest stays; with --yes, delete it.

    Raises:
        PublishError: the registry deletes nothing, or somebody else is at work there.
        CanneryError: anything else.
    """
    options = read(PruneOptions, given, project)
    matrix = project.matrix()
    publishing = load(project.publish_file, matrix)
    place = parse_reference(options.registry, repository=publishing.repository)
    repository = Repository(place.registry, place.repository, ca=existing(options.ca))
    records = read_records(project.releases)
    moving = moving_tags(publishing, matrix)
    found, decision = prunable(repository, records, moving, options.keep, publishing.is_own)
    print(text_of(found, decision))
    if not decision.gone:
        return 0
    if not options.yes:
        console.say("nothing was deleted; add --yes to delete")
        return 0
    delete(repository, decision)
    console.say(
        "the registry frees the space at its next garbage collection; with docker-registry, run "
        "'registry garbage-collect CONFIG' while nobody pushes"
    )
    return 0
