# SPDX-License-Identifier: Apache-2.0
"""Which checks of images there are."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cannery.matrix.project import Project


def folder_of_checks(project: Project) -> Path:
    """Where the image tests are, a folder for each component."""
    return project.root / "tests" / "image"


def components(project: Project) -> list[str]:
    """What there are checks for: the folders of the image tests."""
    return sorted(path.parent.name for path in folder_of_checks(project).glob("*/test_*.py"))


def checks_digest(project: Project) -> str:
    """What tells these checks from those of another version of the project."""
    digest = hashlib.sha256()
    for path in sorted(folder_of_checks(project).rglob("*.py")):
        digest.update(str(path.relative_to(project.root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
