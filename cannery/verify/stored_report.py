# SPDX-License-Identifier: Apache-2.0
"""Where the reports of this checkout are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from cannery.common.errors import FileError
from cannery.common.files import read_text
from cannery.common.image_names import image_name
from cannery.common.model import Target
from cannery.matrix.project import Project


def report_text(project: Project, name: str) -> str:
    """The last report on ``name``, a target's own image name; empty if there is none."""
    try:
        return read_text(_own_report(project, name))
    except (FileNotFoundError, FileError):
        return ""


def report_path(
    project: Project, target: Target, name: str, *, simulated: bool, only: Sequence[str] = ()
) -> Path:
    """The path of the report on the image ``name`` as one of ``target``.

    Builds and pushes use only the report on the target's own image: on an image that has the
    target's own name and is simulated exactly if that name says so. A report on some components,
    ``only``, never takes the place of one on all of them.
    """
    if name == image_name(target.id, simulate=simulated) and not only:
        return _own_report(project, name)
    digest = hashlib.sha256("\0".join([name, *only]).encode()).hexdigest()
    return project.reports / "others" / f"{target.id}-{digest[:12]}.json"


def audit_path(project: Project, reference: str) -> Path:
    """The path of the report on an image of any origin."""
    digest = hashlib.sha256(reference.encode()).hexdigest()
    return project.reports / "others" / f"image-{digest[:12]}.json"


def _own_report(project: Project, name: str) -> Path:
    return project.reports / f"{name.replace(':', '_')}.json"
