# SPDX-License-Identifier: Apache-2.0
"""Options, each declared once as a field of a frozen dataclass.

    check_jobs: int = option("check N images at a time", flags=("--jobs",), default=1)

``bool`` is a flag without a value, ``tuple[X, ...]`` may be given several times, ``X | None`` has
no default value; a field without a default is required. Readers of values raise ValueError with a
sentence that names the value and shows how to write one.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, MISSING, dataclass
from types import NoneType, UnionType
from typing import Any, ParamSpec, get_args, get_origin, get_type_hints

from cannery.common.errors import did_you_mean
from cannery.common.references import is_reference

VARIABLE = "CANNERY_"
"""The beginning of the variables of settings."""

_KEY = "option"
_REQUIRED: Any = object()
_P = ParamSpec("_P")


@dataclass(frozen=True)
class Option:
    """A field on the command line; ``help``, ``metavar`` and ``choices`` are argparse's.

    Attributes:
        flags: empty for ``--`` and the field's name.
        words: the help's name for words without a flag that mean the same; empty for none.
        rest: it takes the words after ``--``, beside words without a flag.
        parse: reads a value; raises ValueError with a sentence.
        count: argparse's ``nargs``.
        group: its heading in the help.
        default_text: the default in the help, where the value itself is not clear.
        needs: the field without which this option has no effect.
        conflicts: fields that cannot be combined with it.
        setting: its key in cannery.toml, and the end of its variable CANNERY_KEY, which give the
            value where the command line has none; empty if there is no such default.
        shown: a value of the setting without its secrets, which cannery.toml may not have.
    """

    help: str
    _: KW_ONLY
    default: Any = _REQUIRED
    flags: tuple[str, ...] = ()
    positional: bool = False
    words: str = ""
    rest: bool = False
    metavar: str = ""
    choices: tuple[str, ...] = ()
    parse: Callable[[str], Any] | None = None
    count: str = ""
    group: str = ""
    default_text: str = ""
    needs: str = ""
    conflicts: tuple[str, ...] = ()
    setting: str = ""
    shown: Callable[[str], str] = str

    def field(self, **changes: Any) -> Any:
        """A field with this declaration and the ``changes`` of a command."""
        changed = dataclasses.replace(self, **changes)
        default = MISSING if changed.default is _REQUIRED else changed.default
        return dataclasses.field(default=default, metadata={_KEY: changed})


def _as_field(declare: Callable[_P, Option]) -> Callable[_P, Any]:
    def declared_field(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        return declare(*args, **kwargs).field()

    return declared_field


option = _as_field(Option)
"""A field that is an option; takes what ``Option`` takes."""


def flag(help: str, **more: Any) -> Any:  # noqa: A002 - as in Option
    """A field that is False unless its flag is typed; takes what ``Option`` takes."""
    return Option(help, default=False, **more).field()


@dataclass(frozen=True, kw_only=True)
class OptionSet:
    """The base of every class of options.

    ``from_settings`` has the fields whose values are from cannery.toml or the environment.
    """

    from_settings: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A field that is an option. ``kind`` is the type of one value."""

    name: str
    kind: type
    repeated: bool
    option: Option

    @property
    def required(self) -> bool:
        return self.option.default is _REQUIRED

    @property
    def default(self) -> Any:
        return None if self.required else self.option.default

    @property
    def flags(self) -> tuple[str, ...]:
        if self.option.positional:
            return ()
        return self.option.flags or ("--" + self.name.replace("_", "-"),)

    @property
    def json(self) -> str:
        """The flag that is short for JSON as the format; empty if it has none."""
        return "--json" if self.name == "format" and "json" in self.option.choices else ""

    @property
    def label(self) -> str:
        """What messages call it: its long flag, or what stands for its value."""
        return self.flags[-1] if self.flags else self.option.metavar

    @property
    def variable(self) -> str:
        """The variable with the default of a setting."""
        return VARIABLE + self.option.setting.upper().replace("-", "_")

    def read(self, text: str) -> Any:
        return (self.option.parse or self.kind)(text)

    def read_setting(self, text: str) -> Any:
        """As ``read``, for what argparse has not compared with the choices."""
        choices = self.option.choices
        if choices and text not in choices:
            raise ValueError(f"invalid value {text!r}. {did_you_mean(text, choices)}".rstrip())
        return self.read(text)


def declared(options: type[OptionSet]) -> tuple[Declared, ...]:
    """Every option that the class ``options`` declares, in its order."""
    hints = get_type_hints(options)
    declarations = []
    for field in dataclasses.fields(options):
        if option := field.metadata.get(_KEY):
            kind, repeated = hints[field.name], get_origin(hints[field.name]) is tuple
            if repeated or get_origin(kind) is UnionType:
                kind = next(inner for inner in get_args(kind) if inner is not NoneType)
            declaration = Declared(name=field.name, kind=kind, repeated=repeated, option=option)
            declarations.append(declaration)
    return tuple(declarations)


def image_reference(text: str) -> str:
    """A reader of the name of an image."""
    if not is_reference(text):
        example = "registry.example.com/ascend:TAG"
        raise ValueError(f"invalid image name {text!r}. Write it as in {example}.")
    return text


def number(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers from ``least`` to ``most``."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise ValueError(f"invalid number {text!r}. Use a number from {least} to {most}.")
        return int(text)

    return read


def matching(pattern: str, noun: str, example: str) -> Callable[[str], str]:
    """A reader of texts that ``pattern`` fits; the message calls them ``noun``."""

    def read(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"invalid {noun} {text!r}. Write it as in {example}.")
        return text

    return read


def person(text: str) -> str:
    """``text``, which names somebody."""
    if not text.strip() or not text.isprintable():
        raise ValueError(f"invalid name {text!r}. Use letters, as in 'Example Ltd'.")
    return text.strip()


def index_address(text: str) -> str:
    """``text``, an address of a package index, whose password no message may have."""
    if not re.match(r"(https?|file)://[^/\s]*/?\S*$", text):
        example = "https://index.example.com/simple"
        raise ValueError(f"invalid address of a package index. Write it as in {example}.")
    return text


def apt_address(text: str) -> str:
    """``text``, an address of a mirror for apt, whose password no message may have."""
    if not re.fullmatch(r"https?://[\w.~:/@%+-]+", text, re.ASCII):
        raise ValueError("invalid address of a mirror. Write it as in http://mirror.example.com.")
    return text


def proxy_address(text: str) -> str:
    """``text``, an address of a proxy, whose password no message may have."""
    if not re.fullmatch(r"https?://[^/\s]+/?", text):
        raise ValueError(
            "invalid address of a proxy. Write it as in http://proxy.example.com:3128."
        )
    return text


@dataclass(frozen=True)
class Shard:
    """The ``index``-th of ``count`` shares of a selection, counted from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def parse_shard(text: str) -> Shard:
    """The shard that is written ``I/N``."""
    match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text, re.ASCII)
    index, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not count:
        raise ValueError(f"invalid shard {text!r}. Write it as in 1/3, the first of three.")
    if not 1 <= index <= count:
        raise ValueError(f"invalid shard {text!r}. Use 1/{count} to {count}/{count}.")
    return Shard(index, count)


_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True)
class Size:
    """An amount of memory: a number and its unit, one of b, k, m, g, or nothing for bytes."""

    number: int
    unit: str

    @property
    def bytes(self) -> int:
        return self.number * _UNITS[self.unit]

    def __str__(self) -> str:
        return f"{self.number}{self.unit}"


def parse_size(text: str) -> Size:
    """The size that is written as docker takes it, as in ``16g``."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([bkmg]?)", text.lower(), re.ASCII)
    if not match:
        raise ValueError(f"invalid size {text!r}. Write it as in 16g or 512m.")
    return Size(int(match[1]), match[2])


def size(text: str) -> str:
    """``text``, which is a size."""
    parse_size(text)
    return text
