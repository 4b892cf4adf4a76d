# SPDX-License-Identifier: Apache-2.0
"""``build.py sync``: everything that is generated, in one go, the reference of commands too."""

from __future__ import annotations

import os

from cannery.cli.cmd_catalog import has_table, write_table
from cannery.cli.cmd_render import write_images
from cannery.cli.command import Command
from cannery.cli.commands import GROUPS, UNLISTED, load
from cannery.cli.parser import help_of
from cannery.cli.schemas import schema_files
from cannery.common import console
from cannery.common.errors import MatrixError, counted, raise_all
from cannery.common.files import read_text
from cannery.common.option import Declared
from cannery.lock.lock_file import check_lock, read_lock
from cannery.lock.requirements import Requirements
from cannery.lock.resolve import write_locks
from cannery.matrix.project import Project
from cannery.options import IndexOptions
from cannery.publish.catalog import inserted

COMMAND = Command(
    description="Brings everything up to date that is generated: locks the targets whose lock is "
    "missing or does not fit matrix.yaml any more, renders images/, and writes the schemas of the "
    "YAML files, the reference of the commands and the table of images, where the project has "
    "them. Says what has changed. Other locks stay as they are; the package index is asked only "
    "if one is missing.",
    reads="what 'lock', 'render' and 'catalog' read",
    writes="images/, the table of 'catalog' where a page has a place for it, and in a checkout of "
    "cannery schemas/ and docs/reference.md",
    example="sync",
    options=IndexOptions,
)


def run(options: IndexOptions, project: Project) -> None:
    """Carry out each step, and name at the end what there is to commit."""
    unlocked = []
    for target in project.matrix().targets.values():
        try:
            check_lock(Requirements(target), read_lock(project, target))
        except MatrixError:
            unlocked.append(target)
    locks = 0
    if unlocked:
        done = write_locks(project, unlocked, (), options.index)
        locks = len(done.changed)
        raise_all(done.failures, single=len(unlocked) == 1)
    rendered = len(write_images(project))
    schemas = _write_schemas(project)
    pages = 0
    page = project.root / "docs" / "reference.md"
    if project.is_checkout and os.path.lexists(page):
        before = read_text(page)
        after = inserted(before, reference(), "docs/reference.md", MARKERS)
        if after != before:
            project.write({page: after})
            pages += 1
    if project.is_checkout or has_table(project):
        pages += write_table(project)
    changes = [
        counted(locks, "lock"),
        f"{counted(rendered, 'file')} of images/",
        counted(schemas, "schema"),
        counted(pages, "page"),
    ]
    if locks or rendered or schemas or pages:
        console.say(f"changed: {', '.join(changes)}; review and commit them", "ok")
    else:
        console.say("everything was in sync already", "ok")


def _write_schemas(project: Project) -> int:
    if not project.is_checkout:
        return 0
    folder = project.root / "schemas"
    before = {path: read_text(path) for path in folder.glob("*.schema.json")}
    if not before:
        return 0
    after = schema_files(project.root)
    changed = {path: text for path, text in after.items() if before.get(path) != text}
    project.write(changed)
    return len(changed)


MARKERS = ("<!-- commands -->", "<!-- /commands -->")


def reference() -> str:
    """Every command with its options, in Markdown."""
    lines = []
    for title, group in {**GROUPS, "not in the first screen": UNLISTED}.items():
        lines += [f"### Commands: {title}", ""]
        for name in group:
            command = load(name)
            lines += [f"#### {name}", "", command.description, ""]
            lines += [f"    python build.py {command.example}", ""]
            lines += [f"Reads {command.reads}. Writes {command.writes}.", ""]
            if command.declared:
                lines += ["| option | meaning |", "|--|--|"]
                labels = {option.name: option.label for option in command.declared}
                for option in command.declared:
                    cells = _typed(option), _in_cell(help_of(option, labels))
                    lines.append(f"| {cells[0]} | {cells[1]} |")
                lines.append("")
    return "\n".join(lines)


def _typed(declared: Declared) -> str:
    option = declared.option
    value = _in_cell(option.metavar) or "\\|".join(option.choices)
    if not declared.flags:
        return f"`{_in_cell(option.metavar)}`"
    words = [f"`{option.words}`"] if option.words else []
    value = "" if declared.kind is bool else f" {value}"
    flags = [f"{flag}{value}" for flag in declared.flags] + [declared.json] * bool(declared.json)
    return ", ".join([*words, *(f"`{flag}`" for flag in flags)])


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")
