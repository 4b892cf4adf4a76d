# SPDX-License-Identifier: Apache-2.0
"""``build.py reproduce``: build an image again and compare its layers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cannery.cli.command import Command, Given
from cannery.cli.common import existing, read
from cannery.common.errors import VerificationError
from cannery.common.option import OptionSet, option
from cannery.matrix.project import Project
from cannery.options import ARTIFACTS, CA, FORMAT, INDEX_URL, SOURCE, BuildOptions, TransferOptions
from cannery.publish.originals import find_original
from cannery.publish.reproducing import reproduce, reproduction_json, reproduction_text


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(OptionSet):
    """The image that is built again, and what it is built from."""

    reference: str = option(
        "an image in a registry, a file below releases/, a local image or a target",
        positional=True,
        metavar="REF",
    )
    artifacts: Path = ARTIFACTS.field()
    sources: tuple[str, ...] = SOURCE.field()
    ca: Path | None = CA.field(help="certificates to trust for downloads and the registry")
    index_url: str = INDEX_URL.field()
    format: str = FORMAT.field()


COMMAND = Command(
    description="Builds an image again from its commit, without the engine's cache, and "
    "compares the digest of each layer with that of the original. Names the layers that "
    "differ and the files in them, and then exits with code 8. Names, tags and publishes "
    "nothing. The checkout must have the files of the image's commit. See docs/provenance.md.",
    reads="the registry or the engine, releases/, git, and what 'build' reads",
    writes=".cannery/; the image that it builds is removed again",
    example="reproduce registry.example.com/ascend@sha256:DIGEST",
    options=(ReproduceOptions, TransferOptions),
)


def run(given: Given, project: Project) -> int:
    """Print which layers are equal; the exit code is 8 if one is not.

    Raises:
        CanneryError: there is no such image, or it cannot be built here.
    """
    options = read(ReproduceOptions, given, project)
    original = find_original(project, options.reference, existing(options.ca))
    building = BuildOptions(
        artifacts=options.artifacts,
        sources=options.sources,
        ca=options.ca,
        index_url=options.index_url,
    )
    found = reproduce(project, original, building, read(TransferOptions, given, project))
    show = reproduction_json if options.format == "json" else reproduction_text
    print(show(found))
    return 0 if found.equal else VerificationError.exit_code
