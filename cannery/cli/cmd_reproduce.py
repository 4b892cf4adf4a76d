# SPDX-License-Identifier: Apache-2.0
"""``build.py reproduce``: build an image again and compare its layers."""

from __future__ import annotations

from cannery.cli.common import existing, read
from cannery.common.errors import VerificationError
from cannery.matrix.project import Project
from cannery.options.build import BuildOptions
from cannery.options.fetch import TransferOptions
from cannery.options.given import Given
from cannery.options.reproduce import ReproduceOptions
from cannery.publish.originals import find_original
from cannery.publish.reproducing import reproduce
from cannery.publish.reproduction_report import reproduction_json, reproduction_text


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
