# SPDX-License-Identifier: Apache-2.0
"""What ``--resume`` needs to know of the options of the last run, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from cannery.common.errors import Problem, UsageError
from cannery.options.given import Given, given_value
from cannery.options.option import Declared, OptionSet, declared

_T = TypeVar("_T", bound=OptionSet)


def remember(options: OptionSet, withheld: Iterable[str] = ()) -> dict[str, Any]:
    """The remembered fields of ``options``; of secret ones only whether they were given.

    ``withheld`` are the secret ones that were given to an earlier run and are not known any more.
    """
    found: dict[str, Any] = {}
    for each in _remembered(type(options)):
        value = getattr(options, each.name)
        if each.name in withheld or (each.option.withholds(value) and value != each.default):
            found[each.name] = True
        elif each.option.secret:
            found[each.name] = False
        elif each.repeated:
            found[each.name] = [_plain(item) for item in value]
        else:
            found[each.name] = _plain(value)
    return found


def recall(options: type[_T], loaded: Mapping[str, Any]) -> tuple[_T, tuple[str, ...]]:
    """What ``remember`` has written, and the names of the secret options that were given.

    Raises:
        TypeError, ValueError: it is something else.
    """
    expected = {each.name: each for each in _remembered(options)}
    if loaded.keys() != expected.keys():
        raise ValueError(*loaded.keys() ^ expected.keys())
    values: dict[str, Any] = {}
    withheld = []
    for name, each in expected.items():
        value = loaded[name]
        if each.option.secret or (each.option.has_secret and value is True):
            if type(value) is not bool:
                raise TypeError(name)
            withheld += [name] if value else []
        elif each.repeated:
            if type(value) is not list:
                raise TypeError(name)
            values[name] = tuple(_value(each, item) for item in value)
        elif value is not None or not each.optional:
            values[name] = _value(each, value)
    return options(**values), tuple(withheld)


def resumed(options: _T, withheld: Iterable[str], given: Given) -> _T:
    """The options of the last run, and in place of some what is ``given`` now.

    Raises:
        UsageError: a secret one was given to the last run and is not given now.
    """
    own = {each.name: each for each in declared(type(options))}
    problems = [
        Problem(
            what=f"the last run was given {own[name].label}, whose value is never written down.",
            fix=f"Add {own[name].label}.",
        )
        for name in withheld
        if name not in given
    ]
    if problems:
        raise UsageError(problems)
    return replace(
        options, **{n: given_value(each, given) for n, each in own.items() if n in given}
    )


def _remembered(options: type[OptionSet]) -> list[Declared]:
    return [each for each in declared(options) if each.option.remembered]


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _value(each: Declared, value: Any) -> Any:
    if type(value) is not (str if each.kind is Path else each.kind):
        raise TypeError(each.name)
    if each.option.choices and value not in each.option.choices:
        raise ValueError(each.name)
    return value if each.kind is bool else each.read(str(value))
