# SPDX-License-Identifier: Apache-2.0
"""What several commands need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cannery.cli.command import Given
from cannery.common.errors import CanneryError, UsageError
from cannery.common.model import Target
from cannery.common.option import OptionSet, declared
from cannery.compat.check_report import Judged, to_json
from cannery.matrix.project import Project, select
from cannery.options import TargetOptions

_T = TypeVar("_T", bound=OptionSet)


def read(options: type[_T], given: Given, project: Project) -> _T:
    """The values of ``options`` that the user gave, and the defaults of the others.

    A default path is one below the checkout.
    """
    values: dict[str, Any] = {}
    for each in declared(options):
        if each.name in given:
            value = given[each.name]
            values[each.name] = tuple(value) if each.repeated else value
        elif isinstance(each.default, Path):
            values[each.name] = project.root / each.default
    return options(**values)


def selected(options: TargetOptions, project: Project) -> list[Target]:
    """The targets that the user named; all of them where none was named, less those left out."""
    return select(project.matrix(), options.targets, options.where)


def with_folder(given: Given, artifacts: Path) -> None:
    """Raise UsageError where the user named a folder of files with --artifacts that is none."""
    if "artifacts" in given and not artifacts.is_dir():
        raise UsageError(f"there is no folder {artifacts}, named with --artifacts.")


def existing(path: Path | None, flag: str = "--ca") -> Path | None:
    """The file that the user named with ``flag``, if one was."""
    if path and not path.is_file():
        raise UsageError(f"there is no file {path}, named with {flag}.")
    return path


def judged(project: Project, patterns: Sequence[str], where: Sequence[str]) -> Judged:
    """The targets that match ``patterns``, or all if there is none, with what is known of them."""
    matrix = project.matrix()
    targets = select(matrix, patterns, where)
    return [(each, matrix.findings[each.id]) for each in targets]


def show(find: Callable[[], Judged], shown: Callable[[Judged], str], *, as_json: bool) -> int:
    """Print what ``find`` finds, as ``shown`` has it or as a document, which failures have, too.

    Raises: as ``find``.
    """
    if not as_json:
        print(shown(find()))
        return 0
    try:
        found = find()
    except CanneryError as error:
        print(to_json([], error.problems))
        raise
    print(to_json(found))
    return 0
