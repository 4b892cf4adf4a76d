# SPDX-License-Identifier: Apache-2.0
"""Finds the project that a command is about: --project, or the working directory or one above."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cannery.common.errors import Problem, UsageError

MATRIX = "matrix.yaml"
_OPTION = "--project"


def project_option(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The folder that --project names among ``words``, if any, and the other words.

    Raises:
        UsageError: it has no folder, or is there twice.
    """
    end = words.index("--") if "--" in words else len(words)
    rest, folders, waiting = list[str](), list[str](), iter(words[:end])
    for word in waiting:
        name, equals, value = word.partition("=")
        if name == _OPTION:
            folders.append(value if equals else next(waiting, ""))
        else:
            rest.append(word)
    if len(folders) > 1:
        raise UsageError(Problem(what=f"{_OPTION} is there twice.", fix="Keep one of them."))
    if not folders:
        return None, [*words]
    if not folders[0] or not Path(folders[0]).is_dir():
        what = f"there is no folder {folders[0]!r}, named with {_OPTION}."
        raise UsageError(Problem(what=what, fix=f"Write {_OPTION} DIR; DIR has a {MATRIX}."))
    return Path(folders[0]).resolve(), [*(rest or ["--help"]), *words[end:]]


def find_project(folder: Path | None) -> Path:
    """The project in ``folder``, else that of the working directory, or of a folder above it.

    Raises:
        UsageError: there is none; or one is in the folder of another and --project chooses none.
    """
    here = folder or Path.cwd()
    found = projects_above(here)
    if folder:
        found = [each for each in found if each == here]
    if not found:
        where = f"in {here}" if folder else f"in {here} or above it"
        fix = "Go to a project, name it with --project DIR, or make one: cannery init"
        raise UsageError(Problem(what=f"there is no {MATRIX} {where}.", fix=fix))
    if len(found) > 1:
        what = f"{found[0] / MATRIX} and {found[1] / MATRIX} are both above {here}, one project "
        fix = f"Choose one: --project {found[0]}; or move it out of the other."
        raise UsageError(Problem(what=f"{what}in the other.", fix=fix))
    return found[0]


def projects_above(folder: Path) -> list[Path]:
    """``folder`` and those above it that have a matrix.yaml, the nearest first."""
    return [each for each in (folder, *folder.parents) if (each / MATRIX).is_file()]
