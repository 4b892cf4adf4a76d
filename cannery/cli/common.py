# SPDX-License-Identifier: Apache-2.0
"""What several commands need."""

from __future__ import annotations

import argparse
from pathlib import Path

from cannery.errors import UsageError
from cannery.execute.engine.buildx import PackageIndex, package_index
from cannery.matrix.project import Project, select
from cannery.model import Target

PROJECT = Project(root=Path(__file__).resolve().parent.parent.parent)


def selected(options: argparse.Namespace) -> list[Target]:
    """The targets that the user named; all of them where none was named, less those left out.

    Raises:
        UsageError, MatrixError, FileError: as ``select`` and ``load_matrix``.
    """
    return select(PROJECT.matrix(), options.target or ["*"], options.where)


def ca_file(named: str) -> Path | None:
    """The file with certificates that the user named, if one was.

    Raises:
        UsageError: it does not exist.
    """
    if named and not Path(named).is_file():
        raise UsageError(f"there is no file {named}, named with --ca.")
    return Path(named).absolute() if named else None


def package_index_of(options: argparse.Namespace) -> PackageIndex:
    """The package index of a build, and the certificates to trust for it.

    Raises:
        UsageError: the file with the certificates does not exist.
    """
    ca_file(options.ca)
    return package_index(options.ca, options.index_url)
