# SPDX-License-Identifier: Apache-2.0
"""The defaults of options in cannery.toml and in variables of the environment.

The command line goes before a variable, a variable before the file, and the file before the
default that the option itself has.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cannery.common.errors import CanneryError, MatrixError, Problem, Span, UsageError, did_you_mean
from cannery.common.option import VARIABLE, Declared
from cannery.matrix.settings import Settings, read_settings
from cannery.options import all_settings

OTHERS = frozenset(
    VARIABLE + name
    for name in (
        # in images
        *("GUARD", "SIMULATED"),
        # of CI jobs; see docs/ci.md
        *("NIGHTLY", "NPU", "REF", "SCAN", "SCANNER", "SCANNER_SHA256", "STAGING", "TABLE"),
        *("TARGET",),
    )
)
"""Variables with this beginning that are no settings."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The value of a setting, and the place of the file or the variable that it is from."""

    value: Any
    origin: Span | str

    def __str__(self) -> str:
        if isinstance(self.origin, Span):
            return f"{self.origin.file}:{self.origin.line}"
        return self.origin


def find(
    wanted: Iterable[Declared], root: Path, environ: Mapping[str, str] = os.environ
) -> dict[str, Found]:
    """Key to value of those of ``wanted`` that a variable has, or cannery.toml in ``root``.

    Raises:
        MatrixError: with every problem of the file, and of the variables.
        UsageError: the same, if all of them are of variables.
        FileError: the file cannot be read.
    """
    settings, errors = Settings(), list[CanneryError]()
    try:
        settings = read_settings(root)
    except MatrixError as error:
        errors.append(error)
    values: dict[str, Found] = {}
    for declared in wanted:
        key, variable = declared.option.setting, declared.variable
        # CI services set variables that have no value to an empty text.
        if text := environ.get(variable, "").strip():
            try:
                values[key] = Found(value=_of_variable(declared, text), origin=variable)
            except ValueError as error:
                errors.append(UsageError(f"{variable}: {error}"))
        elif (value := settings.value(key)) is not None:
            values[key] = Found(value=value, origin=settings.place(key) or key)
    if errors:
        raise type(errors[0])([problem for error in errors for problem in error.problems])
    return values


def _of_variable(declared: Declared, text: str) -> Any:
    """The value in ``text``; where an option may be repeated, with spaces between values."""
    values = [
        declared.read_setting(each) for each in (text.split() if declared.repeated else [text])
    ]
    # Relative paths are taken from the working directory, as on the command line.
    values = [value.absolute() if isinstance(value, Path) else value for value in values]
    return tuple(values) if declared.repeated else values[0]


def unknown(environ: Mapping[str, str] = os.environ) -> Iterator[Problem]:
    """A problem for each variable that begins as those of settings and means nothing."""
    known = {declared.variable for declared in all_settings().values()}
    for name in sorted(environ):
        if name.startswith(VARIABLE) and name not in known | OTHERS:
            hint = did_you_mean(name, known)
            fix = hint if hint.startswith("Did") else "'build.py config' lists those that have one."
            yield Problem(what=f"the variable {name} has no meaning.", fix=fix)
