# SPDX-License-Identifier: Apache-2.0
"""``build.py push``: publish images, all of those selected or none."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from cannery.building.planning import Selection
from cannery.cli.command import Command
from cannery.cli.common import selected
from cannery.common import console
from cannery.common.option import flag, option
from cannery.common.references import parse_reference
from cannery.matrix.project import Project
from cannery.options import ARTIFACTS, REGISTRY, REGISTRY_CA, SIMULATE, RequiredTargetOptions
from cannery.publish.policy import load
from cannery.publish.push import Push
from cannery.publish.push_checks import PushOptions
from cannery.registry.client import Repository

PUSH_EXCEPTIONS = ("simulated", "unverified", "differs")
"""What a push refuses unless it is allowed by name."""


@dataclass(frozen=True, kw_only=True)
class TypedPushOptions(PushOptions, RequiredTargetOptions):
    """How images are pushed. ``signing_key`` is a file or a URI; empty for no signature."""

    simulate: bool = SIMULATE.field()
    registry: str = REGISTRY.field()
    allow: tuple[str, ...] = option(
        "push images that are refused otherwise: simulated ones, ones that were not "
        "verified, or ones that differ from the committed files",
        default=(),
        choices=PUSH_EXCEPTIONS,
    )
    release: bool = flag(
        "refuse images that are not from a clean commit, verified on an NPU, and signed"
    )
    signing_key: str = option(
        "sign the images with this key of cosign",
        default="",
        flags=("--key",),
        metavar="KEY",
        default_text="CANNERY_SIGNING_KEY, else no signature",
    )
    compression: str = option(
        "the compression of layers; engines older than 23.0 need gzip",
        default="zstd",
        choices=("zstd", "gzip"),
    )
    artifacts: Path = ARTIFACTS.field()
    ca: Path | None = REGISTRY_CA.field()


COMMAND = Command(
    description="Uploads the selected images by digest, pulls and tests them again, writes a "
    "record below releases/, and moves the tags last. If anything fails, no tag has moved. "
    "See docs/publish.md.",
    reads="images of the engine, matrix.yaml, publish.yaml, images/ and .cannery/reports/",
    writes="images and tags in the registry, and records in releases/",
    example="push --target 'py39-*' --registry registry.example.com",
    options=TypedPushOptions,
)


def run(options: TypedPushOptions, project: Project) -> None:
    """Push the image of every selected target, and print references to pull.

    If it fails, no tag has moved.
    """
    targets = selected(options, project)
    signing_key = options.signing_key or os.environ.get("CANNERY_SIGNING_KEY", "")
    matrix = project.matrix()
    publishing = load(project.publish_file, matrix)
    place = parse_reference(options.registry, repository=publishing.repository)
    push = Push(
        project=project,
        publishing=publishing,
        repository=Repository(place.registry, place.repository, ca=options.ca),
        options=replace(options, signing_key=signing_key),
    )
    names = frozenset(target.id for target in targets)
    selection = Selection(matrix=matrix, targets=tuple(targets), named=names)
    for pushed in push.run(selection):
        tags = ", ".join(pushed.image_push.tags)
        console.say(f"{pushed.image_push.name}: {tags}")
        print(push.repository.at(pushed.root.digest))
    console.say("commit the new files in releases/")
