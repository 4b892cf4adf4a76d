# SPDX-License-Identifier: Apache-2.0
"""``build.py new``: propose a target that is known to work, and with --write add it."""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

from cannery import console
from cannery.cli.common import PROJECT
from cannery.compat import OWN_FACTS, load_compat
from cannery.compat.archives import load_archives
from cannery.errors import MatrixError, Problem, UsageError, file_error
from cannery.files import write_files
from cannery.matrix.choice import ProposeOptions
from cannery.matrix.propose import Proposal, propose
from cannery.matrix.schema import load_matrix
from cannery.matrix.text import MatrixText

_FORMS = {
    "python": (r"3\.\d+(\.\d+)?", "3.10 or 3.10.14"),
    "torch": (r"(\d+\.\d+\.\d+)?", "2.7.1"),
    "deepspeed": (r"(\d+\.\d+\.\d+|none)?", "0.15.0, or none"),
    "id": (r"([a-z0-9]+([._-][a-z0-9]+)*)?", "py310-mine"),
}


def run(options: argparse.Namespace) -> int:
    """Print the YAML that matrix.yaml lacks; with --write put it there.

    The result is loaded and checked before it is shown or written: what is printed is valid.

    Raises:
        UsageError: an option cannot be read, or the id is taken.
        MatrixError: nothing that is known fits, or matrix.yaml is wrong already.
        FileError: a file cannot be read or written.
    """
    for name, (form, example) in _FORMS.items():
        if not re.fullmatch(form, getattr(options, name)):
            what = f"--{name} {getattr(options, name)!r} cannot be read."
            raise UsageError(Problem(what=what, fix=f"Write it as in {example}."))
    path = PROJECT.root / "matrix.yaml"
    targets = load_matrix(path).targets
    before = _read(path)
    wish = ProposeOptions(
        python=options.python,
        torch=options.torch,
        cann=options.cann,
        chip=options.chip.lower(),
        deepspeed=options.deepspeed,
        apex=options.apex,
        id=options.id,
    )
    compat = load_compat(PROJECT.root / OWN_FACTS.name)
    proposal = propose(wish, compat, MatrixText(before), load_archives(), targets)
    after = _added(before, proposal)
    _require_valid(after)
    for line in proposal.notes:
        console.say(line)
    if not options.write:
        print(_shown(proposal), end="")
        console.say("nothing was written; add --write to put this into matrix.yaml")
        return 0
    write_files({path: after})
    console.say(f"added {proposal.id} to matrix.yaml")
    console.say(f"now run: python build.py lock --target {proposal.id}")
    return 0


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


def _require_valid(text: str) -> None:
    """Load ``text`` as the matrix of a folder that has the same compat.yaml.

    Raises:
        MatrixError: it is refused. Its lines are those of no file, so none is named.
    """
    try:
        _load(text)
    except MatrixError as error:
        refused = [
            Problem(what=f"the proposed target is refused: {each.what}", fix=each.fix)
            for each in error.problems
        ]
        raise MatrixError(refused) from error


def _load(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (
            ("matrix.yaml", text),
            (OWN_FACTS.name, _read(PROJECT.root / OWN_FACTS.name)),
        ):
            Path(folder, name).write_bytes(content.encode())
        load_matrix(Path(folder, "matrix.yaml"))


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
