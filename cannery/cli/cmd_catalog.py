# SPDX-License-Identifier: Apache-2.0
"""``build.py catalog``: the table in README.md, and the page."""

from __future__ import annotations

import difflib
from contextlib import nullcontext
from pathlib import Path

from cannery.catalog.commands import commands
from cannery.catalog.entries import Entry
from cannery.catalog.gather import gather
from cannery.catalog.page import page
from cannery.catalog.readme import inserted, table
from cannery.cli.common import read
from cannery.common import console
from cannery.common.errors import OutOfSyncError, Problem, file_error
from cannery.common.files import read_text, write_files
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.publish import CatalogOptions
from cannery.verify.devices import made_host
from cannery.verify.recording import state_keys


def run(given: Given, project: Project) -> int:
    """Write both, or with --check compare the table with what would be written.

    Raises:
        OutOfSyncError: with --check, the difference as a diff.
        MatrixError: a file that the catalogue is made from is wrong, or README.md has no markers.
        FileError: a file cannot be read or written.
    """
    options = read(CatalogOptions, given, project)
    with nullcontext() if options.check else project.editing():
        _write(options, project)
    return 0


def _write(options: CatalogOptions, project: Project) -> None:
    found = gather(project, state_keys(project))
    readme = project.root / "README.md"
    before = _read(readme)
    after = inserted(before, table(found.entries), readme.name)
    if options.check:
        _require_equal(before, after, readme.name)
        console.say(f"the table in {readme.name} is in sync ({len(found.entries)} images)", "ok")
        return
    texts = {each.id: commands(each, simulated_host=_host(project, each)) for each in found.entries}
    place = options.out / "index.html"
    files = {place: page(found.entries, found.layers, texts)}
    if before != after:
        files[readme] = after
    write_files(files)
    for path in files:
        console.say(f"wrote {path}")


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError as error:
        raise file_error("read", path, error) from error


def _host(project: Project, entry: Entry) -> Path | None:
    """The simulated driver on which a simulated image runs, if this machine has it."""
    return made_host(project, entry.target) if entry.simulated else None


def _require_equal(before: str, after: str, name: str) -> None:
    if before == after:
        return
    old, new = before.splitlines(), after.splitlines()
    diff = "\n".join(difflib.unified_diff(old, new, name, f"{name} (generated)", "", "", 0, ""))
    what = f"the table in {name} is out of date."
    raise OutOfSyncError(
        [
            Problem(what=diff),
            Problem(what=what, fix="Run: python build.py catalog"),
        ]
    )
