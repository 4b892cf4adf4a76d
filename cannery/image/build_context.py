# SPDX-License-Identifier: Apache-2.0
"""The build context that all Dockerfiles share: programs of the build stage, and the guard."""

from __future__ import annotations

from pathlib import Path

from cannery.errors import file_error
from cannery.files import read_text
from cannery.matrix.project import Project

DOCTOR_FILES = (
    *("__init__.py", "__main__.py", "check_cards.py", "check_devices.py", "check_driver.py"),
    *("check_hccl.py", "check_hccn.py", "check_resources.py", "check_storage.py", "command.py"),
    *("driver_version.py", "examine.py", "explain.py", "facts.json", "findings.ini", "fixes.py"),
    *("hccn_conf.py", "host.py", "lazy.py", "logs.py", "machine.py", "nodes.py", "npu_smi.py"),
    *("numbers.py", "report.py", "table.py"),
)
"""The modules and data of the doctor."""

CONTEXT_FILES = (
    *("build-hccl-test", "build-wheel", "compile-python", "download-sdist"),
    *("guard/cannery_guard.pth", "guard/cannery_guard.py", "guard/sitecustomize.py"),
    *("install-packages", "install-rpms", "install-wheels"),
    *("installer-shims", "native-python", "pack-doctor", "requirements.txt", "seal-layer"),
    *("split-lock", ".dockerignore", *(f"ascend_doctor/{name}" for name in DOCTOR_FILES)),
)
"""The files of the build context that all Dockerfiles share."""


def read_context(project: Project) -> dict[str, str]:
    """Name to text of every file of the build context that all Dockerfiles share.

    Raises:
        FileError: one of them cannot be read.
    """
    return {name: _read(project.build_context / name) for name in CONTEXT_FILES}


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError as error:
        raise file_error("read", path, error) from error
