# SPDX-License-Identifier: Apache-2.0
"""``build.py promote``: copy a published image by its digest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.cli import results
from cannery.cli.command import Command
from cannery.common import console
from cannery.common.errors import Problem, UsageError
from cannery.common.option import option
from cannery.common.references import parse_reference
from cannery.matrix.project import Project
from cannery.options import FORMAT, REGISTRY_CA, ProxyOptions
from cannery.publish.policy import load
from cannery.publish.promote import Promotion
from cannery.registry.client import Repository
from cannery.registry.records import read_records


@dataclass(frozen=True, kw_only=True)
class PromoteOptions(ProxyOptions):
    """What is copied, and where to."""

    source: str = option(
        "the published image: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST",
        positional=True,
        metavar="FROM",
    )
    destination: str = option(
        "the destination: REGISTRY/REPOSITORY to keep the tags, or REGISTRY/REPOSITORY:TAG",
        positional=True,
        metavar="TO",
    )
    allow: tuple[str, ...] = option(
        "copy an image that is refused otherwise: one that no file in releases/ records",
        default=(),
        choices=("unrecorded",),
    )
    key: str = option(
        "copy the image only if this public key of cosign has signed it, a file or a URI",
        default="",
        metavar="KEY",
        default_text="signed_with in publish.yaml, else no signature is required",
    )
    ca: Path | None = REGISTRY_CA.field()
    format: str = FORMAT.field()


COMMAND = Command(
    description="Copies a published image with its attestations and signatures, with the "
    "same digest, to another repository or tag. Refuses images that no file in releases/ "
    "records, or that lack a signature which is required, and never changes an immutable "
    "tag. Nothing is built, and no engine is needed. "
    "See docs/publish.md.",
    reads="the registry of FROM, and releases/",
    writes="images and tags in the registry of TO",
    example="promote test.example.com/ascend:ID registry.example.com/ascend",
    options=PromoteOptions,
)


def run(options: PromoteOptions, project: Project) -> None:
    """Copy, and print what to pull from there. A failure says what state the tags are in."""
    source = parse_reference(options.source)
    place = parse_reference(options.destination)
    if not source.version:
        fix = f"Write {source}:TAG or {source}@DIGEST."
        raise UsageError(Problem(what=f"{source} names no image.", fix=fix))
    if place.digest:
        what = f"the destination {place} has a digest; a copy keeps the digest of its source."
        raise UsageError(Problem(what=what, fix="Remove it, or write a tag."))
    publishing = load(project.publish_file, project.matrix())
    promotion = Promotion(
        source=Repository(source.registry, source.repository, ca=options.ca),
        destination=Repository(place.registry, place.repository, ca=options.ca),
        image=source,
        place=place,
        publishing=publishing,
        allow=frozenset(options.allow),
        key=options.key or publishing.signed_with,
    )
    digest, tags = promotion.run(read_records(project.releases))
    console.say(f"{', '.join(tags)} in {promotion.destination}")
    reference = promotion.destination.at(digest)
    if options.format == "json":
        results.show({"reference": reference, "tags": [*tags]})
    else:
        print(reference)
