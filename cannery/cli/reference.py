# SPDX-License-Identifier: Apache-2.0
"""The reference of all commands in docs/reference.md, made from what they declare."""

from __future__ import annotations

from collections.abc import Iterator

from cannery.cli.command import Command
from cannery.cli.commands import GROUPS, UNLISTED, load
from cannery.cli.parser import help_of
from cannery.common.errors import MatrixError
from cannery.common.option import Declared

START, END = "<!-- commands -->", "<!-- /commands -->"


def with_reference(page: str) -> str:
    """``page`` with the reference between the markers.

    Raises:
        MatrixError: the markers are not there.
    """
    before, start, rest = page.partition(f"{START}\n")
    _, end, after = rest.partition(f"{END}\n")
    if not start or not end:
        raise MatrixError(f"docs/reference.md has no lines {START} and {END}.")
    return before + start + _reference() + end + after


def _reference() -> str:
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
