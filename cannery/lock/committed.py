# SPDX-License-Identifier: Apache-2.0
"""Reads the locks of a target from its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cannery.common.errors import MatrixError, Problem
from cannery.common.files import read_text
from cannery.common.model import Target
from cannery.lock.lock_file import Lock, parse_lock
from cannery.matrix.project import Project


def read_lock(project: Project, target: Target) -> Lock:
    """The lock of ``target``, with that of its build requirements if it builds wheels.

    Raises:
        MatrixError: one is missing, or has an invalid line.
        FileError: one cannot be read.
    """
    lock = _read(project, target, project.lock(target), f"{target.id} is not locked.")
    if not target.built_wheels:
        return lock
    path = project.build_requirements_lock(target)
    missing = f"the build requirements of {target.id} are not locked."
    return replace(lock, build=_read(project, target, path, missing))


def _read(project: Project, target: Target, path: Path, what: str) -> Lock:
    """The lock at ``path``; ``what`` is said if there is none."""
    try:
        return parse_lock(read_text(path), str(path.relative_to(project.root)))
    except FileNotFoundError as error:
        fix = f"Run 'python build.py lock --target {target.id}'."
        raise MatrixError(Problem(what=what, fix=fix)) from error
