# SPDX-License-Identifier: Apache-2.0
"""Compares what is rendered with what is committed."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cannery.errors import OutOfSyncError, Problem, file_error
from cannery.matrix.project import Project


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How the files on disk differ from the rendered ones."""

    changed: Mapping[Path, str]
    """Missing or stale file to its unified diff."""
    orphans: tuple[Path, ...]
    """Files that nothing renders."""


def compare(project: Project, rendered: Mapping[Path, str], ids: Iterable[str]) -> Difference:
    """Compare ``rendered`` with the disk, and look for orphans.

    ``ids`` are all ids of the matrix: a folder of another name is an orphan as a whole.
    """
    changed = {}
    for path, text in rendered.items():
        old = _read(path)
        if old != text:
            name = str(path.relative_to(project.root))
            changed[path] = "".join(
                difflib.unified_diff(
                    _lines(old or ""),
                    _lines(text),
                    name if old is not None else "(missing)",
                    f"{name} (rendered)",
                    n=2,
                )
            )
    return Difference(changed=changed, orphans=tuple(_orphans(project, rendered, set(ids))))


def _orphans(project: Project, rendered: Mapping[Path, str], ids: set[str]) -> list[Path]:
    folders = {path.relative_to(project.images).parts[0] for path in rendered}
    expected = {str(path) for path in rendered}
    found = []
    for folder in sorted(project.images.iterdir()):
        if folder == project.templates or (folder.name in ids and folder.name not in folders):
            continue
        for parent, _, files in os.walk(folder):
            for name in files:
                path = f"{parent}/{name}"
                if path not in expected and (folder.name not in ids or name != "requirements.lock"):
                    found.append(Path(path))
    return sorted(found)


def require_in_sync(project: Project, difference: Difference, command: str) -> None:
    """Raise OutOfSyncError unless ``difference`` is empty; ``command`` is what mends it."""
    problems = [Problem(what=text.rstrip("\n")) for text in difference.changed.values()]
    problems += [
        Problem(what=f"{path.relative_to(project.root)}: nothing in matrix.yaml renders this file.")
        for path in difference.orphans
    ]
    if problems:
        summary = Problem(what="images/ is not what matrix.yaml says.", fix=f"Run: {command}")
        raise OutOfSyncError([*problems, summary])


def _lines(text: str) -> list[str]:
    lines = text.replace("\r", "^M").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines


def _read(path: Path) -> str | None:
    try:
        # As bytes, so that other line ends are a difference, and whatever is there can be shown.
        return path.read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error("read", path, error) from error
