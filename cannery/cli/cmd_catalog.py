# SPDX-License-Identifier: Apache-2.0
"""``build.py catalog``: the table of all images, the page, and release notes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cannery.building.git import origin
from cannery.catalog.commands import commands
from cannery.catalog.entries import Entry, gather
from cannery.catalog.page import page
from cannery.catalog.readme import MARKERS, inserted, page_with_table, table
from cannery.cli.command import Command, Given
from cannery.cli.common import read
from cannery.common import console
from cannery.common.errors import OutOfSyncError, Problem, file_error
from cannery.common.files import read_text, write_files
from cannery.common.option import OptionSet, flag, option
from cannery.matrix.project import Project, select
from cannery.publish.release_notes import release_notes
from cannery.registry.records import read_records
from cannery.verify.devices import made_host
from cannery.verify.results import state_keys


@dataclass(frozen=True, kw_only=True)
class CatalogOptions(OptionSet):
    """What becomes of the table and the page."""

    check: bool = flag("write nothing; exit with code 4 if the table is out of date")
    out: Path = option(
        "the directory of the page, index.html", default=Path(".cannery/catalog"), metavar="DIR"
    )
    notes: tuple[str, ...] = option(
        "instead, print in Markdown what the newest published image of this target has: "
        "components, driver, changes since the previous one, checks, sizes and known issues",
        default=(),
        metavar="ID",
        conflicts=("check", "out"),
    )


COMMAND = Command(
    description="Writes the table of all images into docs/targets.md, or into README.md where that "
    "page is not there, and a page on which people choose an image and copy its commands. The page "
    "is one file without external resources; it can be opened from disk or published anywhere. "
    "With --notes, prints release notes instead. Needs no engine.",
    reads="matrix.yaml, compat.yaml, publish.yaml, verified/ and releases/",
    writes="docs/targets.md, or the table in README.md, and index.html in the folder of --out",
    example="catalog --out site",
    options=(CatalogOptions,),
    quick=True,
)


def run(given: Given, project: Project) -> int:
    """Write both, or with --check compare the table with what would be written; or print notes.

    Raises:
        OutOfSyncError: with --check, the difference as a diff.
        MatrixError: a file that the catalogue is made from is wrong, or the page has no markers.
        FileError: a file cannot be read or written.
    """
    options = read(CatalogOptions, given, project)
    if options.notes:
        print(_notes(options.notes, project), end="")
        return 0
    if options.check:
        entries = gather(project, state_keys(project))
        name = page_with_table(project.root)
        before = _read(project.root / name)
        _require_equal(name, before, inserted(before, table(entries), name, MARKERS))
        console.say(f"the table in {name} is in sync ({len(entries)} images)", "ok")
    else:
        write_catalogue(project, options.out)
    return 0


def _notes(patterns: Sequence[str], project: Project) -> str:
    targets = select(project.matrix(), patterns)
    records = read_records(project.releases)
    findings = project.matrix().findings
    return "\n".join(
        release_notes(each, findings[each.id], [r for r in records if r.target == each.id])
        for each in targets
    )


def write_catalogue(project: Project, out: Path) -> bool:
    """Write the table, and the page into the folder ``out``; whether the table has changed.

    Raises:
        MatrixError, FileError: as ``run``.
    """
    with project.editing():
        found = gather(project, state_keys(project))
        name = page_with_table(project.root)
        before = _read(project.root / name)
        after = inserted(before, table(found), name, MARKERS)
        texts = {each.id: commands(each, simulated_host=_host(project, each)) for each in found}
        files = {out / "index.html": page(found, texts, origin=origin(project.root))}
        if before != after:
            files[project.root / name] = after
        write_files(files)
    for path in files:
        console.say(f"wrote {path}")
    return before != after


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError as error:
        raise file_error("read", path, error) from error


def _host(project: Project, entry: Entry) -> Path | None:
    """The simulated driver on which a simulated image runs, if this machine has it."""
    return made_host(project, entry.target) if entry.simulated else None


def _require_equal(name: str, before: str, after: str) -> None:
    if before == after:
        return
    old, new = before.splitlines(), after.splitlines()
    diff = "\n".join(difflib.unified_diff(old, new, name, f"{name} (generated)", "", "", 0, ""))
    what = f"the table in {name} is out of date."
    raise OutOfSyncError(
        [Problem(what=diff), Problem(what=what, fix="Run: python build.py catalog")]
    )
