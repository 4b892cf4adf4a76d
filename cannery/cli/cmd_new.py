# SPDX-License-Identifier: Apache-2.0
"""``build.py new``: propose a target that is known to work, and with --write add it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from cannery.cli.common import read
from cannery.common import console
from cannery.common.errors import MatrixError, Problem, file_error
from cannery.common.files import write_files
from cannery.compat import Compat
from cannery.compat.archives import load_archives
from cannery.matrix.project import Project
from cannery.matrix.propose import Proposal, propose
from cannery.matrix.schema import load_matrix, parse_matrix
from cannery.matrix.text import MatrixText
from cannery.options.given import Given
from cannery.options.matrix import NewOptions


def run(given: Given, project: Project) -> int:
    """Print the YAML that matrix.yaml lacks; with --write put it there.

    The result is loaded and checked before it is shown or written: what is printed is valid.

    Raises:
        UsageError: a version cannot be read, or the id is taken.
        MatrixError: nothing that is known fits, or matrix.yaml is wrong already.
        FileError: a file cannot be read or written.
    """
    options = read(NewOptions, given, project)
    with project.editing() if options.write else nullcontext():
        _add(options, project)
    return 0


def _add(options: NewOptions, project: Project) -> None:
    path = project.matrix_file
    targets = load_matrix(path).targets
    before = _read(path)
    compat = project.compat()
    proposal = propose(options, compat, MatrixText(before), load_archives(), targets)
    after = _added(before, proposal)
    _require_valid(after, compat)
    for line in proposal.notes:
        console.say(line)
    if not options.write:
        print(_shown(proposal), end="")
        console.say("nothing was written; add --write to put this into matrix.yaml")
        return
    write_files({path: after})
    console.say(f"added {proposal.id} to matrix.yaml")
    console.say(f"now run: python build.py lock --target {proposal.id}")


def _read(path: Path) -> str:
    """The text as it is, with whatever ends its lines."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise file_error("read", path, error) from error


def _added(text: str, proposal: Proposal) -> str:
    matrix = MatrixText(text)
    for where, lines in proposal.entries:
        matrix.add(where, lines)
    return matrix.text


def _require_valid(text: str, compat: Compat) -> None:
    """Read ``text`` as a matrix and judge it.

    Raises:
        MatrixError: it is refused. Its lines are those of no file, so none is named.
    """
    try:
        parse_matrix(text, "matrix.yaml", compat)
    except MatrixError as error:
        refused = [
            Problem(what=f"the proposed target is refused: {each.what}", fix=each.fix)
            for each in error.problems
        ]
        raise MatrixError(refused) from error


def _shown(proposal: Proposal) -> str:
    """The entries with the sections that they belong to, as they would be in matrix.yaml."""
    lines: list[str] = []
    opened: tuple[str, ...] = ()
    for where, entry in proposal.entries:
        shared = 0
        while shared < min(len(opened), len(where)) and opened[shared] == where[shared]:
            shared += 1
        lines += ["  " * depth + where[depth] + ":" for depth in range(shared, len(where))]
        lines += ["  " * len(where) + line for line in entry]
        opened = where
    return "\n".join(lines) + "\n"
