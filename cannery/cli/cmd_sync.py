# SPDX-License-Identifier: Apache-2.0
"""``build.py sync``: everything that is generated, in one go, the reference of commands too."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cannery.cli.cmd_catalog import write_table
from cannery.cli.cmd_render import write_images
from cannery.cli.command import Command, Given
from cannery.cli.commands import GROUPS, UNLISTED, load
from cannery.cli.common import existing, read
from cannery.cli.parser import help_of
from cannery.common import console
from cannery.common.errors import EngineError, MatrixError, counted, raise_all
from cannery.common.files import read_text, write_files
from cannery.common.model import Target
from cannery.common.option import Declared, OptionSet
from cannery.common.package_index import package_index
from cannery.common.process import allowed_env
from cannery.lock.lock_file import check_lock, read_lock
from cannery.lock.requirements import Requirements
from cannery.lock.resolve import write_locks
from cannery.matrix.project import Project
from cannery.options import CA, INDEX_URL
from cannery.publish.catalog import inserted


@dataclass(frozen=True, kw_only=True)
class SyncOptions(OptionSet):
    """Where packages are looked for."""

    ca: Path | None = CA.field()
    index_url: str = INDEX_URL.field()


COMMAND = Command(
    description="Brings everything up to date that is generated: locks the targets whose lock is "
    "missing or does not fit matrix.yaml any more, renders images/, and writes the schemas of the "
    "YAML files, the reference of the commands and the table of images. Says what has changed. "
    "Other locks stay as they are; the package index is asked only if one is missing.",
    reads="what 'lock', 'render' and 'catalog' read",
    writes="images/, docs/targets.md, and schemas/ and docs/reference.md where the checkout has "
    "them",
    example="sync",
    options=(SyncOptions,),
)


def run(given: Given, project: Project) -> int:
    """Do each step, and say at the end what there is to commit.

    Raises:
        CanneryError: a step fails; those before it are done.
    """
    options = read(SyncOptions, given, project)
    wanted = [each for each in project.matrix().targets.values() if not _is_locked(project, each)]
    locks = 0
    if wanted:
        source = package_index(existing(options.ca), options.index_url)
        done = write_locks(project, wanted, (), source)
        locks = len(done.changed)
        raise_all(done.failures, single=len(wanted) == 1)
    rendered = len(write_images(project))
    schemas = _write_schemas(project)
    page = _write_reference(project)
    table = write_table(project)
    changes = [
        counted(locks, "lock"),
        f"{counted(rendered, 'file')} of images/",
        counted(schemas, "schema"),
        counted(int(table) + page, "page"),
    ]
    if locks or rendered or schemas or page or table:
        console.say(f"changed: {', '.join(changes)}; review and commit them", "ok")
    else:
        console.say("everything was in sync already", "ok")
    return 0


def _is_locked(project: Project, target: Target) -> bool:
    """Whether the lock of ``target`` is there and is what matrix.yaml asks for."""
    try:
        check_lock(Requirements(target), read_lock(project, target))
    except MatrixError:
        return False
    return True


def _write_reference(project: Project) -> int:
    """Write the reference of the commands anew where the checkout has its page; 1 if it changed."""
    path = project.root / "docs" / "reference.md"
    if not path.is_file():
        return 0
    before = read_text(path)
    after = inserted(before, reference(), "docs/reference.md", MARKERS)
    if after == before:
        return 0
    write_files({path: after})
    return 1


def _write_schemas(project: Project) -> int:
    """Write the schemas anew, and return how many have changed; 0 where there are none."""
    folder = project.root / "schemas"
    if not (folder / "__main__.py").is_file():
        return 0
    before = _digests(folder)
    argv = [sys.executable, "-m", "schemas"]
    done = subprocess.run(
        argv,
        cwd=project.root,
        env=allowed_env("schemas"),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise EngineError(f"the schemas cannot be made: {done.stderr.strip()}")
    return len(_digests(folder) - before)


def _digests(folder: Path) -> set[tuple[str, str]]:
    return {
        (path.name, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.glob("*.schema.json")
    }


MARKERS = ("<!-- commands -->", "<!-- /commands -->")


def reference() -> str:
    """Every command with its options, in Markdown."""
    lines = []
    for title, group in {**GROUPS, "not in the first screen": UNLISTED}.items():
        lines += [f"### Commands: {title}", ""]
        for name in group:
            lines += _command(load(name))
    return "\n".join(lines)


def _command(command: Command) -> Iterator[str]:
    yield f"#### {command.name}"
    yield ""
    yield command.description
    yield ""
    yield f"    python build.py {command.example}"
    yield ""
    yield f"Reads {command.reads}. Writes {command.writes}."
    yield ""
    if not command.declared:
        return
    yield "| option | meaning |"
    yield "|--|--|"
    labels = {each.name: each.label for each in command.declared}
    for each in command.declared:
        yield f"| {_typed(each)} | {_in_cell(help_of(each, labels))} |"
    yield ""


def _typed(each: Declared) -> str:
    """As it is typed, with what stands for its value."""
    own = each.option
    value = own.metavar or "\\|".join(own.choices)
    if not each.flags:
        return f"`{_in_cell(own.metavar)}`"
    words = [f"`{own.words}`"] if own.words else []
    value = "" if each.kind is bool else f" {_in_cell(own.metavar) or value}"
    return ", ".join([*words, *(f"`{flag}{value}`" for flag in each.flags)])


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")
