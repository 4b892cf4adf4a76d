# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a command line or a file, and the exit code that each kind has."""

from __future__ import annotations

import difflib
from typing import Callable, Iterable, NamedTuple, Sequence, TypeVar

_R = TypeVar("_R")


class Problem(NamedTuple):
    """One thing that is wrong, what to do about it, and the file with line and column."""

    what: str
    fix: str = ""
    where: str = ""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return place + self.what + (f" {self.fix}" if self.fix else "")


class ProblemError(Exception):
    """A failure that is reported without a traceback."""

    exit_code = 9

    def __init__(self, problems: str | Problem | Sequence[Problem]) -> None:
        if isinstance(problems, str):
            problems = Problem(problems)
        found: list[Problem] = [problems] if isinstance(problems, Problem) else [*problems]
        self.problems = tuple(found)
        super().__init__("\n".join(str(problem) for problem in found))


class UsageError(ProblemError):
    """The command line asks for something that does not exist."""

    exit_code = 2


class FileError(ProblemError):
    """A file or a process cannot be read, or has nothing that can be examined."""


class RankTableError(ProblemError):
    """A rank table, or a file that one is made from, is wrong."""

    exit_code = 8


def file_error(action: str, path: object, error: OSError) -> FileError:
    """The error for an ``OSError`` met while doing ``action`` (as "write") to ``path``."""
    reason = (error.strerror or str(error)).lower()
    fix = "Nothing was changed there. Check the disk space and the permissions, then retry."
    if action == "read":
        fix = "Check that it is there and that you may read it."
    return FileError(Problem(f"cannot {action} {path}: {reason}.", fix))


def collected(works: Iterable[Callable[[], _R]]) -> list[_R]:
    """The results of all ``works``."""
    found: list[_R] = []
    errors: list[ProblemError] = []
    for work in works:
        try:
            found.append(work())
        except ProblemError as error:
            errors.append(error)
    if errors:
        raise joined(errors)
    return found


def joined(errors: Sequence[ProblemError]) -> ProblemError:
    """One error with all problems of ``errors``, each once."""
    kinds = {type(error) for error in errors}
    kind = kinds.pop() if len(kinds) == 1 else FileError
    return kind([*dict.fromkeys(problem for error in errors for problem in error.problems)])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the known name nearest to ``name``, or lists the known ones."""
    names = sorted({*known})
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {close[0]!r}?"
    return f"Known: {some_of(names, 20)}." if names else ""


def some_of(names: Sequence[str], limit: int) -> str:
    """``names`` with commas between them; of more than ``limit`` the first, and a count."""
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more:,} more" if more > 0 else "")


def counted(count: int, noun: str) -> str:
    """``count`` of what the singular ``noun`` names, as "1 target" or "2 targets"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
