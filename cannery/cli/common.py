# SPDX-License-Identifier: Apache-2.0
"""What several commands need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from cannery.common.errors import CanneryError, UsageError, kind_of
from cannery.common.model import Target
from cannery.common.yaml_limits import read_limited
from cannery.matrix.project import Project, select
from cannery.options import given as given_options
from cannery.options.given import Given
from cannery.options.option import OptionSet
from cannery.options.shared import TargetOptions

_T = TypeVar("_T", bound=OptionSet)
_R = TypeVar("_R")


def read(options: type[_T], given: Given, project: Project) -> _T:
    """The values of ``options`` that the user gave, and the defaults of the others."""
    return given_options.read(options, given, project.root)


def selected(options: TargetOptions, project: Project) -> list[Target]:
    """The targets that the user named; all of them where none was named, less those left out.

    Raises:
        UsageError, MatrixError, FileError: as ``select`` and ``load_matrix``.
    """
    return select(project.matrix(), options.targets or ["*"], options.where)


def read_files(paths: Iterable[Path], parse: Callable[[str, str], _R]) -> list[_R]:
    """What ``parse`` makes of the text and the name of each file.

    Raises:
        CanneryError: files cannot be read or parsed; with every problem.
    """
    found: list[_R] = []
    errors: list[CanneryError] = []
    for path in paths:
        try:
            found.append(parse(read_limited(path, str(path)), str(path)))
        except CanneryError as error:
            errors.append(error)
    raise_errors(errors)
    return found


def raise_errors(errors: Sequence[CanneryError]) -> None:
    """Raise one error with the problems of all ``errors``, if there are any.

    Raises:
        CanneryError: of the kind of all of them.
    """
    if errors:
        problems = [problem for error in errors for problem in error.problems]
        raise kind_of(errors)([*dict.fromkeys(problems)])


def existing(ca: Path | None) -> Path | None:
    """The file with certificates that the user named, if one was.

    Raises:
        UsageError: it does not exist.
    """
    if ca and not ca.is_file():
        raise UsageError(f"there is no file {ca}, named with --ca.")
    return ca
