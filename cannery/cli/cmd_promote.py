# SPDX-License-Identifier: Apache-2.0
"""``build.py promote``: copy a published image by its digest."""

from __future__ import annotations

import argparse

from cannery import console
from cannery.cli.common import PROJECT, ca_file
from cannery.errors import Problem, UsageError
from cannery.execute.registry.client import Repository
from cannery.pipeline.promote import Promotion
from cannery.publish.oci import Reference, parse_reference
from cannery.publish.records import read_records


def run(options: argparse.Namespace) -> int:
    """Copy, and print what to pull from there.

    Raises:
        UsageError: FROM or TO is no reference that can be used.
        PublishError: no record names the image, or a tag there must stay as it is.
        CanneryError: anything else; no tag has moved then.
    """
    wanted = parse_reference(options.source)
    place = parse_reference(options.destination)
    if not wanted.version:
        fix = f"Write {wanted}:TAG or {wanted}@DIGEST."
        raise UsageError(Problem(what=f"{wanted} does not say which image.", fix=fix))
    if place.digest:
        what = f"{place} names a digest, and the copy has that of what is copied."
        raise UsageError(Problem(what=what, fix="Leave it out, or write a tag."))
    ca = ca_file(options.ca)

    def repository(reference: Reference) -> Repository:
        return Repository(reference.registry, reference.repository, ca=ca)

    promotion = Promotion(
        source=repository(wanted),
        destination=repository(place),
        wanted=wanted,
        place=place,
        allow=frozenset(options.allow),
    )
    digest, tags = promotion.run(read_records(PROJECT.releases))
    console.say(f"{', '.join(tags)} in {promotion.destination}")
    print(promotion.destination.at(digest))
    return 0
