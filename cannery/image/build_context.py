# SPDX-License-Identifier: Apache-2.0
"""The build context that all Dockerfiles share: programs of the build stage, and the guard."""

from __future__ import annotations

from pathlib import Path

from cannery.common.errors import file_error
from cannery.matrix.project import Project

CONTEXT_FILES = (
    *("add-device-user", "ascend-doctor", "ascend-doctor.sha256", "build-hccl-test"),
    *("build-wheel", "compile-python", "download-sdist"),
    *("guard/cannery_guard.pth", "guard/cannery_guard.py"),
    *("guard/sitecustomize.py", "install-packages", "install-rpms", "install-wheels"),
    *("install-cann", "installer-shims", "native-python", "requirements.txt", "seal-layer"),
    *("split-lock", ".dockerignore"),
)
"""The files of the build context that all Dockerfiles share."""


def read_context(project: Project) -> dict[str, str]:
    """Name to text of every file of the build context that all Dockerfiles share.

    Raises:
        FileError: one of them cannot be read.
    """
    return {name: _read(project.build_context / name) for name in CONTEXT_FILES}


def _read(path: Path) -> str:
    # The doctor is a zip archive; git's files are decoded in the same way.
    try:
        return path.read_bytes().decode(errors="surrogateescape")
    except OSError as error:
        raise file_error("read", path, error) from error
