# SPDX-License-Identifier: Apache-2.0
"""``build.py prune``: delete from a registry what nothing needs."""

from __future__ import annotations

import argparse

from cannery import console
from cannery.cli.common import PROJECT, ca_file
from cannery.execute.registry.client import Repository
from cannery.pipeline.prune import delete, moving_tags, prunable, text_of
from cannery.publish.oci import parse_reference
from cannery.publish.policy import load
from cannery.publish.records import read_records


def run(options: argparse.Namespace) -> int:
    """Show what would be deleted and why the rest stays; with --yes, delete it.

    Raises:
        PublishError: the registry deletes nothing, or somebody else is at work there.
        CanneryError: anything else.
    """
    matrix = PROJECT.matrix()
    publishing = load(PROJECT.publish_file, matrix)
    place = parse_reference(options.registry, repository=publishing.repository)
    repository = Repository(place.registry, place.repository, ca=ca_file(options.ca))
    records = read_records(PROJECT.releases)
    moving = moving_tags(publishing, matrix)
    found, decision = prunable(repository, records, moving, options.keep)
    print(text_of(found, decision))
    if not decision.gone:
        return 0
    if not options.yes:
        console.say("nothing was deleted: add --yes")
        return 0
    delete(repository, decision)
    console.say(
        "the registry frees the space when it collects its garbage: docker-registry does with "
        "'registry garbage-collect CONFIG', while nobody pushes"
    )
    return 0
