# SPDX-License-Identifier: Apache-2.0
"""The facts of compat.yaml and matrix.yaml that the doctor in the images judges drivers by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cannery.compat.facts import Compat
from cannery.matrix.project import Project
from cannery.model import Matrix

PACKAGE = "ascend_doctor"
"""The folder of the doctor's modules below the shared build context."""


def doctor_facts(matrix: Matrix, compat: Compat) -> dict[str, Any]:
    """The drivers that sources name for each CANN, and the public releases near interim builds.

    The most trusted source comes first.
    """
    releases = [target.cann for target in matrix.targets.values()]
    nearest = {each.version: each.nearest_public for each in releases if each.interim}
    rows = sorted(compat.drivers, key=lambda row: (row.rank, row.line))
    return {
        "nearest_public": dict(sorted(nearest.items())),
        "drivers": [
            {
                "cann": str(row.cann),
                "minimum": row.minimum,
                "maximum": row.maximum,
                "source": "; ".join(map(str, row.sources)),
            }
            for row in rows
        ],
    }


def facts_file(project: Project, matrix: Matrix, compat: Compat) -> tuple[Path, str]:
    """The file that is packed with the doctor, and its text."""
    text = json.dumps(doctor_facts(matrix, compat), indent=2, ensure_ascii=True)
    return project.build_context / PACKAGE / "facts.json", text + "\n"
