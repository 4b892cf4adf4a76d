# SPDX-License-Identifier: Apache-2.0
"""``build.py prune``: delete from a registry what nothing needs."""

from __future__ import annotations

from cannery.cli.common import existing, read
from cannery.common import console
from cannery.common.references import parse_reference
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.publish import PruneOptions
from cannery.publish.policy import load
from cannery.publish.prune import delete, moving_tags, prunable, text_of
from cannery.registry.client import Repository
from cannery.registry.records import read_records


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
