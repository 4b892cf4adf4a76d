# SPDX-License-Identifier: Apache-2.0
"""The values in rows of compat.yaml: how the text of each is read."""

from __future__ import annotations

import re
from typing import Annotated

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pydantic import BeforeValidator, Field

from cannery.common.cann_version import CannRange, CannVersion
from cannery.common.files import day, is_day
from cannery.common.model import CHIPS, chip_hint
from cannery.common.models import NUMBER, OneOf, Parsed, Unique
from cannery.common.specifiers import parse_requirement, specifiers
from cannery.common.wheels import MACHINES

_PYTHONS = re.compile(r"3\.([0-9][0-9]?)(?:-3\.([0-9][0-9]?))?")
_GLIBC = re.compile(r"[0-9]+\.[0-9]+")
_DATE = re.compile(r"[0-9]{4}(-[0-9][0-9](-[0-9][0-9])?)?")
_FIRST = "2000-01-01"
"""Completes a date without a month or a day."""


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


def _glibc(text: str) -> tuple[int, ...]:
    if not _GLIBC.fullmatch(text):
        raise ValueError(f"{text!r} is not a version of glibc. Write it as in 2.34.")
    return tuple(map(int, text.split(".")))


def _chip(text: str) -> str:
    if text not in CHIPS:
        raise ValueError(f"unknown chip {text!r}. {chip_hint(text, CHIPS)}")
    return text


def _date(text: str) -> str:
    if not (_DATE.fullmatch(text) and is_day(text + _FIRST[len(text) :])):
        raise ValueError(f"{text!r} is not a date. Write it as 2026, 2026-08 or 2026-08-21.")
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


Cann = Annotated[CannVersion, Parsed(CannVersion.parse)]
CannBounds = Annotated[CannRange, Parsed(CannRange.parse)]
Bounds = Annotated[SpecifierSet, Parsed(specifiers)]
Wheel = Annotated[Requirement, Parsed(parse_requirement)]

Pythons = Annotated[tuple[str, ...], Parsed(python_range)]
"""Minors of Python, written as in ``3.8-3.11``."""

WheelVersion = Annotated[str, Parsed(_wheel_version)]
"""A version as a wheel's metadata spells it: 2.1.0rc1 for a table's 2.1.0.rc1."""

PackageVersion = Annotated[str, Parsed(_version)]
Triton = Annotated[str, Parsed(_version_if_any)]
App = Annotated[str, Parsed(_app)]
Rank = Annotated[int, Field(ge=1, le=9), NUMBER]
Glibc = Annotated[tuple[int, ...], Parsed(_glibc)]
Machine = Annotated[str, OneOf(MACHINES)]
Chips = Unique[Annotated[str, Parsed(_chip)]]
Date = Annotated[str, Parsed(_date)]
Day = Annotated[str, Parsed(day)]
Address = Annotated[str, Parsed(_address)]
FileNames = Annotated[str, Parsed(_file_name)]
Names = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda names: (names,) if isinstance(names, str) else names,
        json_schema_input_type=str | list[str],
    ),
    Field(min_length=1),
]
"""One name, or a list of them."""
