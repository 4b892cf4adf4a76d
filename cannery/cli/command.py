# SPDX-License-Identifier: Apache-2.0
"""A command: its text, its options, and the function that carries it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from cannery.common import console
from cannery.common.errors import EngineError, UsageError
from cannery.common.option import Declared, OptionSet, declared
from cannery.common.tls import tls_context

Given = Mapping[str, Any]
"""Field to value of the options that were given, in the order in which they were typed."""

_EXISTING = {"ca": "file", "from_bundle": "file", "artifacts": "folder"}
"""Options that name what has to exist."""

_T = TypeVar("_T", bound=OptionSet)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command.

    ``options`` is the class of its options, ``one_of`` fields of it of which it needs at least
    one. The words after one that ``passes_on`` are another program's. ``reads`` and ``writes`` name
    files and what else it uses, and ``example`` the words after build.py. One that is ``quick``
    says no times. Its name and summary are in the table of commands, and ``carry_out`` is the
    function ``run`` of its file, which returns the exit code.
    """

    description: str
    reads: str
    writes: str
    example: str
    options: type[OptionSet]
    one_of: tuple[str, ...] = ()
    passes_on: bool = False
    quick: bool = False
    name: str = ""
    summary: str = ""
    carry_out: Callable[[Any, Any], int | None] = lambda _options, _project: 0

    @cached_property
    def declared(self) -> tuple[Declared, ...]:
        """Its options, in the order of its help."""
        return declared(self.options)

    def run(self, given: Given, root: Path) -> int:
        """Carry it out in the checkout ``root``, and return the exit code."""
        # By name, because help is not to wait for what this imports.
        project = import_module("cannery.matrix.project").Project(root=root)
        console.timed(not self.quick)
        return self.carry_out(read(self.options, given, root), project) or 0


def read(options: type[_T], given: Given, root: Path) -> _T:
    """The values of ``options`` that the user gave, and the defaults of the others.

    A default path is one below the checkout ``root``.
    """
    values: dict[str, Any] = {}
    for field in declared(options):
        if field.name in given:
            value = given[field.name]
            kind = _EXISTING.get(field.name)
            if kind and not (value.is_dir() if kind == "folder" else value.is_file()):
                raise UsageError(f"there is no {kind} {value}, named with {field.label}.")
            if field.name == "ca":
                try:
                    tls_context([value])
                except EngineError as error:
                    raise UsageError(error.problems) from error
            values[field.name] = tuple(value) if field.repeated else value
        elif isinstance(field.default, Path):
            values[field.name] = root / field.default
    return options(**values)
