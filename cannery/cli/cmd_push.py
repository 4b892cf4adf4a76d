# SPDX-License-Identifier: Apache-2.0
"""``build.py push``: publish images, all of those selected or none."""

from __future__ import annotations

import os
from dataclasses import replace

from cannery.build.selection import Selection
from cannery.cli.common import existing, read, selected
from cannery.common import console
from cannery.common.references import parse_reference
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.publish import PushOptions
from cannery.options.shared import RequiredTargetOptions
from cannery.publish.policy import load
from cannery.publish.push import Push
from cannery.registry.client import Repository


def run(given: Given, project: Project) -> int:
    """Push the image of every selected target, and print references to pull.

    Raises:
        PublishError: an image may not be pushed, or a tag names something else.
        CanneryError: anything else; no tag has moved then.
    """
    targets = selected(read(RequiredTargetOptions, given, project), project)
    options = read(PushOptions, given, project)
    signing_key = options.signing_key or os.environ.get("CANNERY_SIGNING_KEY", "")
    matrix = project.matrix()
    publishing = load(project.publish_file, matrix)
    place = parse_reference(options.registry, repository=publishing.repository)
    push = Push(
        project=project,
        publishing=publishing,
        repository=Repository(place.registry, place.repository, ca=existing(options.ca)),
        options=replace(options, signing_key=signing_key),
    )
    names = frozenset(target.id for target in targets)
    selection = Selection(matrix=matrix, targets=tuple(targets), named=names)
    for pushed in push.run(selection):
        tags = ", ".join(pushed.image_push.tags)
        console.say(f"{pushed.image_push.name}: {tags}")
        print(push.repository.at(pushed.root.digest))
    console.say("commit the new files in releases/")
    return 0
