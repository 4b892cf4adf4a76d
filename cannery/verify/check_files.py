# SPDX-License-Identifier: Apache-2.0
"""Lists the checks of images."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cannery.matrix.project import Project


def folder_of_checks(project: Project) -> Path:
    """The folder of the image tests, which has a folder for each component."""
    return project.root / "tests" / "image"


def components(project: Project) -> list[str]:
    """The components that have checks."""
    return sorted(path.parent.name for path in folder_of_checks(project).glob("*/test_*.py"))


def checks_digest(project: Project) -> str:
    """A hash of all files of the image tests."""
    digest = hashlib.sha256()
    for path in sorted(folder_of_checks(project).rglob("*.py")):
        digest.update(str(path.relative_to(project.root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
