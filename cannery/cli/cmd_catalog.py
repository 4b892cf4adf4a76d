# SPDX-License-Identifier: Apache-2.0
"""``build.py catalog``: the table of all images."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from cannery.cli.command import Command
from cannery.common import console
from cannery.common.errors import OutOfSyncError, Problem, file_error
from cannery.common.files import read_text
from cannery.common.option import OptionSet, flag
from cannery.matrix.project import Project
from cannery.publish.catalog import MARKERS, gather, inserted, page_with_table, table
from cannery.verify.results import state_keys


@dataclass(frozen=True, kw_only=True)
class CatalogOptions(OptionSet):
    """What becomes of the table."""

    check: bool = flag("write nothing; exit with code 4 if the table is out of date")


COMMAND = Command(
    description="Writes the table of all images into docs/targets.md, or into README.md where that "
    "page is not there. Needs no engine.",
    reads="matrix.yaml, compat.yaml, publish.yaml, verified/ and releases/",
    writes="docs/targets.md, or the table in README.md",
    example="catalog",
    options=CatalogOptions,
    quick=True,
)


def run(options: CatalogOptions, project: Project) -> None:
    """Write the table, or with --check compare it with the one in the page."""
    if not options.check:
        write_table(project)
        return
    name, before, after = _texts(project)
    if before != after:
        lines = before.splitlines(), after.splitlines()
        diff = "\n".join(difflib.unified_diff(*lines, name, f"{name} (generated)", "", "", 0, ""))
        what, fix = f"the table in {name} is out of date.", "Run: python build.py catalog"
        raise OutOfSyncError([Problem(what=diff), Problem(what=what, fix=fix)])
    console.say(f"the table in {name} is in sync", "ok")


def has_table(project: Project) -> bool:
    """Whether the page for the table has a place for it."""
    page = project.root / page_with_table(project.root)
    return page.is_file() and MARKERS[0] in read_text(page).splitlines()


def write_table(project: Project) -> bool:
    """Write the table; returns True if it has changed."""
    with project.editing():
        name, before, after = _texts(project)
        if before != after:
            project.write({project.root / name: after})
    state = "was in sync already" if before == after else "is written"
    console.say(f"the table in {name} {state}", "ok")
    return before != after


def _texts(project: Project) -> tuple[str, str, str]:
    entries = gather(project, state_keys(project))
    name = page_with_table(project.root)
    try:
        before = read_text(project.root / name)
    except FileNotFoundError as error:
        raise file_error("read", project.root / name, error) from error
    return name, before, inserted(before, table(entries), name, MARKERS)
