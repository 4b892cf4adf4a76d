# SPDX-License-Identifier: Apache-2.0
"""The declaration of an option, and how it is found in a dataclass.

An options class is a frozen dataclass whose fields carry in their metadata how they are given::

    check_jobs: int = field(default=1, metadata=option(flags=("--jobs",), help="..."))

The field's type says what is accepted: ``bool`` is a flag without a value, ``tuple[X, ...]`` may be
given several times, ``X | None`` has no default value. A field without a default is required, and
a field without metadata is not on the command line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from types import NoneType, UnionType
from typing import Any, ParamSpec, get_args, get_origin, get_type_hints

_KEY = "option"
_P = ParamSpec("_P")


@dataclass(frozen=True, kw_only=True)
class Option:
    """How a field is given on the command line, and what ``--resume`` does with it.

    Attributes:
        help: what the option does; the default value is appended to it.
        flags: how it is typed; empty for ``--`` and the field's name.
        positional: it is a word without a flag.
        metavar: what stands for the value in the help.
        choices: the values that are allowed; empty for any.
        parse: reads a value and raises ValueError, with a sentence, for a wrong one.
        count: how many values follow, as argparse's ``nargs`` has it.
        group: the heading of the help below which it stands.
        default_text: what the help names as the default, where the value does not say it.
        needs: the field of the option without which this one has no effect.
        conflicts: the fields of the options that cannot be combined with it.
        remembered: ``--resume`` takes it from the last run.
        with_resume: it may be given with ``--resume``, and wins over what is remembered.
        secret: never written down: only whether it was given is remembered.
        has_secret: says of a value whether it is secret, for an option that is so sometimes.
    """

    help: str
    flags: tuple[str, ...] = ()
    positional: bool = False
    metavar: str = ""
    choices: tuple[str, ...] = ()
    parse: Callable[[str], Any] | None = None
    count: str = ""
    group: str = ""
    default_text: str = ""
    needs: str = ""
    conflicts: tuple[str, ...] = ()
    remembered: bool = False
    with_resume: bool = False
    secret: bool = False
    has_secret: Callable[[Any], bool] | None = None

    def withholds(self, value: Any) -> bool:
        """Whether ``value`` is never written down."""
        return self.secret or bool(self.has_secret and self.has_secret(value))


def _in_metadata(make: Callable[_P, Option]) -> Callable[_P, Mapping[str, Option]]:
    def made(*args: _P.args, **kwargs: _P.kwargs) -> Mapping[str, Option]:
        return {_KEY: make(*args, **kwargs)}

    return made


option = _in_metadata(Option)
"""The metadata of a field that is an option; takes what ``Option`` takes."""


def changed(metadata: Mapping[str, Option], **changes: Any) -> Mapping[str, Option]:
    """The same declaration with other words, for a command in which it means a little else."""
    return {_KEY: dataclasses.replace(metadata[_KEY], **changes)}


@dataclass(frozen=True, kw_only=True)
class OptionSet:
    """The base of every options class."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A field that is an option. ``kind`` is the type of one value."""

    name: str
    kind: type
    optional: bool
    repeated: bool
    required: bool
    default: Any
    option: Option

    @property
    def flags(self) -> tuple[str, ...]:
        """As they are typed; none of a positional one."""
        if self.option.positional:
            return ()
        return self.option.flags or ("--" + self.name.replace("_", "-"),)

    @property
    def label(self) -> str:
        """What messages call it: its long flag, or what stands for its value."""
        return self.flags[-1] if self.flags else self.option.metavar

    def read(self, text: str) -> Any:
        """One value, from ``text``.

        Raises:
            ValueError: it cannot be read.
        """
        return (self.option.parse or self.kind)(text)


def declared(options: type[OptionSet]) -> tuple[Declared, ...]:
    """Every option that the class ``options`` declares, in its order."""
    hints = get_type_hints(options)
    found = []
    for each in dataclasses.fields(options):
        if _KEY in each.metadata:
            kind, optional, repeated = _kind(hints[each.name])
            found.append(
                Declared(
                    name=each.name,
                    kind=kind,
                    optional=optional,
                    repeated=repeated,
                    required=each.default is MISSING,
                    default=None if each.default is MISSING else each.default,
                    option=each.metadata[_KEY],
                )
            )
    return tuple(found)


def _kind(hint: Any) -> tuple[type, bool, bool]:
    """The type of one value, whether there may be none, and whether there may be several."""
    if get_origin(hint) is UnionType:
        [kind] = [each for each in get_args(hint) if each is not NoneType]
        return kind, True, False
    if get_origin(hint) is tuple:
        return get_args(hint)[0], False, True
    return hint, False, False
