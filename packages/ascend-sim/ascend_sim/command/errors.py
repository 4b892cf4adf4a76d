# SPDX-License-Identifier: Apache-2.0
"""What can go wrong for a user, with the exit code that each kind has; README.md lists them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_SHOWN = 20


class SimError(Exception):
    """A failure that is reported without a traceback: one line for each problem."""

    exit_code = 1

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class UsageError(SimError):
    """The command line is wrong."""

    exit_code = 2


class UnusableError(SimError):
    """This machine, this Python or a folder cannot be used."""

    exit_code = 6


class CommandError(SimError):
    """The user's program cannot be started; the codes are a shell's."""

    def __init__(self, problem: str, *, found: bool) -> None:
        super().__init__(problem)
        self.exit_code = 126 if found else 127


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the known name nearest to ``name``, or lists the known ones."""
    names = [*known]
    if close := nearest(name, names):
        return f"Did you mean {close!r}?"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Known: {', '.join(names[-_SHOWN:])}{more}."


def nearest(name: str, known: Sequence[str]) -> str:
    """The known name nearest to ``name``, whatever the case of its letters; "" if none is near."""
    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else ""
