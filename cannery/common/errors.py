# SPDX-License-Identifier: Apache-2.0
"""Errors for users and their exit codes, which docs/reference.md lists.

``cannery.cli.main`` turns an error into text and a code.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path


@dataclass(frozen=True, kw_only=True, order=True)
class Span:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong, and what to do about it.

    ``targets`` are the targets that it concerns; none for what concerns all.
    """

    what: str
    fix: str = ""
    where: Span | None = None
    targets: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return place + self.what + (f" {self.fix}" if self.fix else "")


class CanneryError(Exception):
    """A failure that is reported to the user without a traceback."""

    exit_code = 1

    def __init__(self, problems: Problem | str | Sequence[Problem]) -> None:
        if isinstance(problems, str):
            problems = Problem(what=problems)
        self.problems: tuple[Problem, ...] = (
            (problems,) if isinstance(problems, Problem) else tuple(problems)
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(CanneryError):
    """The command line asks for something that does not exist."""

    exit_code = 2


class MatrixError(CanneryError):
    """matrix.yaml or a lock is wrong, or asks for a combination that cannot work."""

    exit_code = 3


class OutOfSyncError(CanneryError):
    """images/ is not what matrix.yaml renders to."""

    exit_code = 4


class ArtifactError(CanneryError):
    """A vendor file is missing or is not the file that it should be."""

    exit_code = 5


class EngineError(CanneryError):
    """The container engine, buildx, or a base image cannot be used."""

    exit_code = 6


class BuildError(CanneryError):
    """The engine could not build the image."""

    exit_code = 7


class VerificationError(CanneryError):
    """The image was built, and a check in it failed."""

    exit_code = 8


class FileError(CanneryError):
    """A file of the project cannot be read or written."""

    exit_code = 9


class PublishError(CanneryError):
    """What was asked of a registry is refused, or was undone; the last line is about the tags."""

    exit_code = 10


class BusyError(CanneryError):
    """Another run builds the target."""

    exit_code = 11


class VulnerabilityError(CanneryError):
    """An image has a vulnerability that is as severe as the command line says, or worse."""

    exit_code = 14


def raise_all(failures: Mapping[str, CanneryError], *, single: bool) -> None:
    """Raise one error for ``failures``, by target; the name of a ``single`` one is left out."""
    if single and len(failures) == 1:
        raise next(iter(failures.values()))
    if failures:
        raise kind_of(failures.values())(named_problems(failures))


def named_problems(failures: Mapping[str, CanneryError]) -> list[Problem]:
    """The problems of ``failures`` with their targets."""
    return [
        Problem(what=f"[{name}] {problem}")
        for name, error in failures.items()
        for problem in error.problems
    ]


def kind_of(errors: Iterable[CanneryError]) -> type[CanneryError]:
    """The class of all ``errors``, or CanneryError for several classes."""
    kinds = {type(error) for error in errors}
    return kinds.pop() if len(kinds) == 1 else CanneryError


INTERRUPTED = 130

_COMPARED = 1000
"""The most names that are compared with a misspelt one."""

_LISTED = (20, 300)
"""The most known names that a message lists, and their characters."""


def file_error(action: str, path: Path, error: OSError) -> FileError:
    """A FileError for ``error``, which happened in ``action`` (as "write") of ``path``."""
    reason = (error.strerror or str(error)).lower()
    fix = "Nothing was changed there. Check the disk space and the permissions, then retry."
    if action == "read":
        fix = "Check that it is there and that you may read it."
    return FileError(Problem(what=f"cannot {action} {path}: {reason}.", fix=fix))


def closest(name: str, known: Iterable[str]) -> str:
    """The known name nearest to ``name`` without regard to case; empty if none is near."""
    known = (other for other in known if _is_alike(name, other))
    by_lower = {other.lower(): other for other in sorted(known, reverse=True)}
    # Comparing many mistakes with thousands of names would take minutes.
    near = by_lower if len(by_lower) <= _COMPARED else {name.lower()} & by_lower.keys()
    matches = difflib.get_close_matches(name.lower(), sorted(near), n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else ""


def _is_alike(name: str, other: str) -> bool:
    """Whether ``other`` can be meant by ``name``: of a version only one of the same series is."""
    series = re.match(r"v?[0-9]+(\.[0-9]+)?", name)
    return not series or (f"{other}.".startswith(series[0].lstrip("v")) and not name.isdigit())


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known name, or the known names; of a version its series."""
    names = sorted(set(known))
    if close := closest(name, names):
        return f"Did you mean {close!r}?"
    names = [other for other in names if _is_alike(name, other)] or names
    most, characters = _LISTED
    fitting = sum(end <= characters for end in accumulate(len(other) + 2 for other in names))
    return f"Known: {some_of(names, max(min(fitting, most), 1))}." if names else ""


def some_of(names: Sequence[str], limit: int) -> str:
    """The first ``limit`` of ``names`` with commas, and the number of the others."""
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more:,} more" if more > 0 else "")


def enumerated(names: Sequence[str]) -> str:
    """``names`` as in a sentence: "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def counted(count: int, noun: str) -> str:
    """As "1 target" or "2 targets"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
