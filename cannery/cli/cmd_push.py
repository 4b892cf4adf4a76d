# SPDX-License-Identifier: Apache-2.0
"""``build.py push``: publish images, all of those selected or none."""

from __future__ import annotations

import argparse
import os

from cannery import console
from cannery.cli.common import PROJECT, ca_file, selected
from cannery.execute.registry.client import Repository
from cannery.pipeline.build_options import Selection
from cannery.pipeline.push import Push
from cannery.pipeline.pushable import PushOptions
from cannery.publish.oci import parse_reference
from cannery.publish.policy import load


def run(options: argparse.Namespace) -> int:
    """Push the image of every selected target, and print references to pull.

    Raises:
        PublishError: an image may not be pushed, or a tag names something else.
        CanneryError: anything else; no tag has moved then.
    """
    targets = selected(options)
    matrix = PROJECT.matrix()
    publishing = load(PROJECT.publish_file, matrix)
    place = parse_reference(options.registry, repository=publishing.repository)
    ca = ca_file(options.ca)
    push = Push(
        project=PROJECT,
        publishing=publishing,
        repository=Repository(place.registry, place.repository, ca=ca),
        options=PushOptions(
            simulate=options.simulate,
            allow=frozenset(options.allow),
            artifacts=(options.artifacts or PROJECT.artifacts).absolute(),
            release=options.release,
            signing_key=options.key or os.environ.get("CANNERY_SIGNING_KEY", ""),
        ),
        compression=options.compression,
    )
    names = frozenset(target.id for target in targets)
    selection = Selection(matrix=matrix, targets=tuple(targets), named=names)
    for pushed in push.run(selection):
        tags = ", ".join(pushed.image_push.tags)
        console.say(f"{pushed.image_push.name}: {tags}")
        print(push.repository.at(pushed.root.digest))
    console.say("commit the new files in releases/")
    return 0
