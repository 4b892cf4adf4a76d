# SPDX-License-Identifier: Apache-2.0
"""What a user has given on the command line, as options classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cannery.common.errors import Problem
from cannery.options.option import Declared, OptionSet, declared

Given = Mapping[str, Any]
"""Field to value of the options that were given, in the order in which they were typed."""

RESUME = "resume"
"""The field of the option that continues the last run."""

_T = TypeVar("_T", bound=OptionSet)


def read(options: type[_T], given: Given, root: Path) -> _T:
    """The values of ``options`` that were given, and the defaults of the others.

    A default path is one below ``root``.
    """
    values: dict[str, Any] = {}
    for each in declared(options):
        if each.name in given:
            values[each.name] = given_value(each, given)
        elif isinstance(each.default, Path):
            values[each.name] = root / each.default
    return options(**values)


def given_value(each: Declared, given: Given) -> Any:
    """The value of an option that was given, as its field has it."""
    value = given[each.name]
    return tuple(value) if each.repeated else value


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
    if RESUME in given and (refused := [n for n in given if not known[n].option.with_resume]):
        what = "--resume continues the last run with the options of that run."
        fix = f"Leave out {', '.join(known[name].label for name in refused)}."
        problems.append(Problem(what=what, fix=fix))
    if one_of and not given.keys() & {*one_of}:
        labels = [known[name].label for name in one_of]
        fix = f"Add {', '.join(labels[:-1])} or {labels[-1]}."
        what = (
            "no target and no image is selected." if "image" in one_of else "no target is selected."
        )
        problems.append(Problem(what=what, fix=fix))
    return problems


def all_declared(classes: Iterable[type[OptionSet]]) -> tuple[Declared, ...]:
    """The options of several classes, in their order."""
    return tuple(each for options in classes for each in declared(options))
