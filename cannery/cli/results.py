# SPDX-License-Identifier: Apache-2.0
"""The one JSON document that a run prints: its result, or what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from cannery.common import program
from cannery.common.errors import Problem

_printed: list[bool] = []


def show(document: Any) -> None:
    """Print ``document``, which is the result of the run."""
    # Imported here, because an error of the command line does not need it.
    from cannery.common.outside import json_text

    show_text(json_text(document))


def show_text(document: str) -> None:
    """As ``show``, for a document that is text already."""
    _printed.append(True)
    print(document)


def show_errors(problems: Sequence[Problem], code: int) -> None:
    """Print why the run fails, if it has printed no result; ``code`` is its exit code."""
    if not _printed:
        show({"errors": [_fields(problem) for problem in problems], "code": code})


def begin() -> None:
    """Forget the document of an earlier run of this process."""
    _printed.clear()


def wanted(words: Sequence[str]) -> bool:
    """Whether the command line ``words`` ask for JSON, also if something else in it is wrong."""
    own = [*words[: words.index("--")]] if "--" in words else [*words]
    # Of some commands --json names a file.
    files = words[:1] in (["doctor"], ["test"])
    return not files and (
        "--json" in own or "--format=json" in own or ("--format", "json") in [*pairwise(own)]
    )


def _fields(problem: Problem) -> dict[str, Any]:
    where = problem.where
    return {
        "what": program.text(problem.what),
        "fix": program.text(problem.fix),
        "file": where.file if where else "",
        "line": where.line if where else 0,
        "column": where.column if where else 0,
    }
