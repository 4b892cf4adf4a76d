# SPDX-License-Identifier: Apache-2.0
"""``build.py push``: publish images, all of those selected or none."""

from __future__ import annotations

from dataclasses import dataclass

from cannery.building.planning import Selection
from cannery.cli import results
from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console
from cannery.common.references import parse_reference
from cannery.matrix.project import Project
from cannery.options import FORMAT, ProxyOptions, RegistryOptions, RequiredTargetOptions
from cannery.publish.policy import load
from cannery.publish.push import Push
from cannery.publish.push_checks import PushOptions
from cannery.registry.client import Repository


@dataclass(frozen=True, kw_only=True)
class PushCommandOptions(PushOptions, RegistryOptions, ProxyOptions, RequiredTargetOptions):
    """Which images are pushed, how, and where to."""

    format: str = FORMAT.field()


COMMAND = Command(
    description="Uploads the selected images by digest, pulls and tests them again, writes a "
    "record below releases/, and moves the tags last. If that fails, they are put back, and the "
    "message says so of each. See docs/publish.md.",
    reads="images of the engine, matrix.yaml, publish.yaml, images/ and .cannery/reports/",
    writes="images and tags in the registry, and records in releases/",
    example="push --target 'py39-*' --registry registry.example.com",
    options=PushCommandOptions,
)


def run(options: PushCommandOptions, project: Project) -> None:
    """Push the image of every selected target, and print references to pull.

    If it fails, the last problem says what state the tags are in.
    """
    targets = selected(options, project)
    matrix = project.matrix()
    publishing = load(project.publish_file, matrix)
    place = parse_reference(options.registry, repository=publishing.repository)
    push = Push(
        project=project,
        publishing=publishing,
        repository=Repository(place.registry, place.repository, ca=options.ca),
        options=options,
    )
    images = []
    for pushed in push.run(Selection(matrix=matrix, targets=tuple(targets))):
        name, tags = pushed.image_push.name, [*pushed.image_push.tags]
        reference = push.repository.at(pushed.root.digest)
        console.say(f"{name}: {', '.join(tags)}")
        images.append({"id": name, "reference": reference, "tags": tags})
        if options.format == "text":
            print(reference)
    if options.format == "json":
        results.show({"images": images})
    console.say("commit the new files in releases/")
