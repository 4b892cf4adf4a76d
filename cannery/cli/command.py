# SPDX-License-Identifier: Apache-2.0
"""A command: what it does, what it takes, and which of that cannot be combined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from cannery.common import console
from cannery.common.errors import Problem
from cannery.common.option import Declared, OptionSet, declared

Given = Mapping[str, Any]
"""Field to value of the options that were given, in the order in which they were typed."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command.

    ``options`` are the classes of its options, ``one_of`` fields of them of which it needs at least
    one. The words after one that ``passes_on`` are another program's. ``reads`` and ``writes`` name
    files and what else it uses, and ``example`` the words after build.py. One that is ``quick``
    says no times. Its name and summary are in the table of commands, and ``carry_out`` is the
    function ``run`` of its file.
    """

    description: str
    reads: str
    writes: str
    example: str
    options: tuple[type[OptionSet], ...] = ()
    one_of: tuple[str, ...] = ()
    passes_on: bool = False
    quick: bool = False
    name: str = ""
    summary: str = ""
    carry_out: Callable[[Given, Any], int] = lambda _given, _project: 0

    @cached_property
    def declared(self) -> tuple[Declared, ...]:
        """Its options, in the order of its help."""
        return tuple(each for options in self.options for each in declared(options))

    @property
    def notes(self) -> str:
        """What the help says after the options, in lines."""
        lines = [f"reads: {self.reads}", f"writes: {self.writes}", "example:"]
        return "\n".join([*lines, f"  python build.py {self.example}"])

    def run(self, given: Given, root: Path) -> int:
        """Do it in the checkout that is in ``root``, and return the exit code.

        Raises:
            CanneryError: as the command's file says.
        """
        # By name, because help is not to wait for what this imports.
        project = import_module("cannery.matrix.project").Project(root=root)
        console.timed(not self.quick)
        return self.carry_out(given, project)


def check(options: Sequence[Declared], given: Given, one_of: Sequence[str] = ()) -> list[Problem]:
    """What is wrong with the combination of what was given.

    ``options`` are all that the command takes, ``one_of`` the fields of which it needs one.
    """
    known = {each.name: each for each in options}
    problems = []
    for name in given:
        own = known[name]
        if own.option.needs and own.option.needs not in given:
            problems.append(Problem(what=f"{own.label} needs {known[own.option.needs].label}."))
        for other in own.option.conflicts:
            if other in given:
                what = f"{own.label} and {known[other].label} cannot be combined."
                problems.append(Problem(what=what, fix="Leave one of them out."))
    needed = one_of or [each.name for each in options if each.option.words and each.required]
    if needed and not given.keys() & {*needed}:
        problems.append(_nothing_selected([known[name] for name in needed]))
    return problems


def _nothing_selected(ways: Sequence[Declared]) -> Problem:
    labels = [each.label for each in ways if not each.option.rest]
    if any(each.option.words or each.option.rest for each in ways):
        labels.insert(0, "the ID of one")
    fix = f"Add {', '.join(labels[:-1])} or {labels[-1]}." if labels[1:] else f"Add {labels[0]}."
    other = " and no image" if any(each.name == "image" for each in ways) else ""
    return Problem(what=f"no target{other} is selected.", fix=fix)
