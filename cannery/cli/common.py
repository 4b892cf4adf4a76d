# SPDX-License-Identifier: Apache-2.0
"""What several commands need."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from cannery.common.errors import UsageError
from cannery.common.model import Target
from cannery.matrix.project import Project, select
from cannery.options import given as given_options
from cannery.options.given import Given
from cannery.options.option import OptionSet
from cannery.options.shared import TargetOptions

_T = TypeVar("_T", bound=OptionSet)


def read(options: type[_T], given: Given, project: Project) -> _T:
    """The values of ``options`` that the user gave, and the defaults of the others."""
    return given_options.read(options, given, project.root)


def selected(options: TargetOptions, project: Project) -> list[Target]:
    """The targets that the user named; all of them where none was named, less those left out.

    Raises:
        UsageError, MatrixError, FileError: as ``select`` and ``load_matrix``.
    """
    return select(project.matrix(), options.targets or ["*"], options.where)


def existing(ca: Path | None) -> Path | None:
    """The file with certificates that the user named, if one was.

    Raises:
        UsageError: it does not exist.
    """
    if ca and not ca.is_file():
        raise UsageError(f"there is no file {ca}, named with --ca.")
    return ca
