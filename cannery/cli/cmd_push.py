# SPDX-License-Identifier: Apache-2.0
"""``build.py push``: publish images, all of those selected or none."""

from __future__ import annotations

import os
from dataclasses import replace

from cannery import console
from cannery.cli.common import existing, read, selected
from cannery.execute.registry.client import Repository
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.publish import PushOptions
from cannery.options.shared import RequiredTargetOptions
from cannery.pipeline.push import Push
from cannery.pipeline.selection import Selection
from cannery.publish.oci import parse_reference
from cannery.publish.policy import load


def run(given: Given, project: Project) -> int:
    """Push the image of every selected target, and print what to pull.

    Raises:
        PublishError: an image may not be pushed, or a tag names something else.
        CanneryError: anything else; no tag has moved then.
    """
    targets = selected(read(RequiredTargetOptions, given, project), project)
    options = read(PushOptions, given, project)
    key = options.key or os.environ.get("CANNERY_SIGNING_KEY", "")
    matrix = project.matrix()
    publishing = load(project.publish_file, matrix)
    place = parse_reference(options.registry, repository=publishing.repository)
    push = Push(
        project=project,
        publishing=publishing,
        repository=Repository(place.registry, place.repository, ca=existing(options.ca)),
        options=replace(options, key=key),
    )
    names = frozenset(target.id for target in targets)
    selection = Selection(matrix=matrix, targets=tuple(targets), named=names)
    for arrived in push.run(selection):
        tags = ", ".join(arrived.image_push.tags)
        console.say(f"{arrived.image_push.name}: {tags}")
        print(push.repository.at(arrived.root.digest))
    console.say("commit the new files in releases/")
    return 0
