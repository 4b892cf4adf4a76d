# SPDX-License-Identifier: Apache-2.0
"""The values in rows of compat.yaml: how the text of each is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import did_you_mean
from cannery.common.files import is_day
from cannery.common.model import CHIPS, chip_hint
from cannery.common.wheels import MACHINES

_PYTHONS = re.compile(r"3\.([0-9][0-9]?)(?:-3\.([0-9][0-9]?))?")
_GLIBC = re.compile(r"[0-9]+\.[0-9]+")
_DATE = re.compile(r"[0-9]{4}(-[0-9][0-9](-[0-9][0-9])?)?")
_FIRST = "2000-01-01"
"""Completes a date without a month or a day."""


@dataclass(frozen=True)
class Text:
    """A text that ``parse`` reads; it raises ValueError with what is wrong."""

    parse: Callable[[str], Any]


@dataclass(frozen=True)
class Texts:
    """A list of texts, each of which ``parse`` reads."""

    parse: Callable[[str], Any]


@dataclass(frozen=True, eq=False)
class OneOf:
    """A name in ``known``, which messages call a ``noun``; it stands for the value there."""

    known: Mapping[str, Any]
    noun: str


def python_range(text: str) -> tuple[str, ...]:
    """The minors of ``3.8-3.10`` or ``3.8``, as ("3.8", "3.9", "3.10")."""
    match = _PYTHONS.fullmatch(text)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise ValueError(f"{text!r} is not a range of Pythons. Write it as in 3.8-3.11.")
    return tuple(f"3.{minor}" for minor in range(int(match[1]), int(match[2] or match[1]) + 1))


def _wheel_version(text: str) -> str:
    return str(Version(text))


def _version(text: str) -> str:
    Version(text)
    return text


def _version_if_any(text: str) -> str:
    return text if text == "N/A" else _version(text)


def _app(text: str) -> str:
    release = text.removeprefix("vllm-ascend v")
    if release != text:
        Version(release)
    return text


def _abi(text: str) -> int:
    if text not in ("0", "1"):
        raise ValueError(f"unknown libstdc++ ABI {text}. It is 0 or 1.")
    return int(text)


def _rank(text: str) -> int:
    if not re.fullmatch(r"[1-9]", text):
        raise ValueError(f"{text!r} is not a rank. Write a number from 1 to 9.")
    return int(text)


def _glibc(text: str) -> tuple[int, ...]:
    if not _GLIBC.fullmatch(text):
        raise ValueError(f"{text!r} is not a version of glibc. Write it as in 2.34.")
    return tuple(map(int, text.split(".")))


def _machine(text: str) -> str:
    if text not in MACHINES:
        raise ValueError(f"there is no machine {text!r}. {did_you_mean(text, MACHINES)}".rstrip())
    return text


def _chip(text: str) -> str:
    if text not in CHIPS:
        raise ValueError(f"unknown chip {text!r}. {chip_hint(text, CHIPS)}")
    return text


def _date(text: str) -> str:
    if not (_DATE.fullmatch(text) and is_day(text + _FIRST[len(text) :])):
        raise ValueError(f"{text!r} is not a date. Write it as 2026, 2026-08 or 2026-08-21.")
    return text


def _day(text: str) -> str:
    if not is_day(text):
        raise ValueError(f"{text!r} is not a day. Write it as in 2026-08-21.")
    return text


def _address(text: str) -> str:
    if "://" in text or " " in text:
        raise ValueError("an address has no scheme and no space. Write it as host/path.")
    return text


def _file_name(text: str) -> str:
    try:
        text.format(version="", chip="", machine="")
    except (KeyError, IndexError, ValueError) as error:
        what = "only {version}, {chip} and {machine} can be filled in."
        raise ValueError(what) from error
    return text


Pythons = Annotated[tuple[str, ...], Text(python_range)]
"""Minors of Python, written as in ``3.8-3.11``."""

WheelVersion = Annotated[str, Text(_wheel_version)]
"""A version as a wheel's metadata spells it: 2.1.0rc1 for a table's 2.1.0.rc1."""

PackageVersion = Annotated[str, Text(_version)]
Triton = Annotated[str, Text(_version_if_any)]
App = Annotated[str, Text(_app)]
Abi = Annotated[int, Text(_abi)]
Rank = Annotated[int, Text(_rank)]
Glibc = Annotated[tuple[int, ...], Text(_glibc)]
Machine = Annotated[str, Text(_machine)]
Chips = Annotated[tuple[str, ...], Texts(_chip)]
Releases = Annotated[tuple[CannVersion, ...], Texts(CannVersion.parse)]
Date = Annotated[str, Text(_date)]
Day = Annotated[str, Text(_day)]
Address = Annotated[str, Text(_address)]
FileNames = Annotated[str, Text(_file_name)]
