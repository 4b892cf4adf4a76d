# SPDX-License-Identifier: Apache-2.0
"""The facts of compat.yaml and matrix.yaml that the doctor judges drivers by.

``python -m cannery.image.doctor_facts`` writes them into the package ascend-doctor.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cannery.common.files import write_files
from cannery.compat.facts import Compat
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project

FILE = "packages/ascend-doctor/ascend_doctor/facts.json"
"""Where the doctor of this checkout has them."""


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
    """The file of the doctor, and its text."""
    text = json.dumps(doctor_facts(matrix, compat), indent=2, ensure_ascii=True)
    return project.root / FILE, text + "\n"


if __name__ == "__main__":
    checkout = Project(root=Path(__file__).resolve().parents[2])
    write_files(dict([facts_file(checkout, checkout.matrix(), checkout.compat())]))
