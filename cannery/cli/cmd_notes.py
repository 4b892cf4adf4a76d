# SPDX-License-Identifier: Apache-2.0
"""``build.py notes``: the release notes of published images."""

from __future__ import annotations

from cannery.cli.common import read, selected
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.shared import RequiredTargetOptions
from cannery.publish.release_notes import release_notes
from cannery.registry.records import read_records


def run(given: Given, project: Project) -> int:
    """Print the notes of each selected target.

    Raises:
        UsageError, MatrixError: no such target; matrix.yaml or compat.yaml is wrong.
        FileError: one of them, or a record, cannot be read.
    """
    targets = selected(read(RequiredTargetOptions, given, project), project)
    records = read_records(project.releases)
    findings = project.matrix().findings
    texts = [
        release_notes(each, findings[each.id], [r for r in records if r.target == each.id])
        for each in targets
    ]
    print("\n".join(texts), end="")
    return 0
