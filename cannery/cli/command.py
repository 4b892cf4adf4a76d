# SPDX-License-Identifier: Apache-2.0
"""A command: its text, its options, and the function that carries it out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from cannery.common import console
from cannery.common.errors import EngineError, Problem, UsageError
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
    says no times, and one ``without_project`` needs no matrix.yaml. Its
    name and summary are in the table of commands, and ``carry_out`` is the
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
    without_project: bool = False
    name: str = ""
    summary: str = ""
    carry_out: Callable[[Any, Any], int | None] = lambda _options, _project: 0

    @cached_property
    def declared(self) -> tuple[Declared, ...]:
        """Its options, in the order of its help."""
        return declared(self.options)

    def run(self, given: Given, root: Path) -> int:
        """Carry it out in the project ``root``, and return the exit code."""
        # By name, because help is not to wait for what this imports.
        project = import_module("cannery.matrix.project").Project(root=root)
        console.timed(not self.quick)
        for problem in import_module("cannery.cli.defaults").unknown():
            console.say(str(problem), "warning")
        options = read(self.options, given, root)
        # All that asks the network, in this process and others, takes the proxy from there.
        os.environ.update(getattr(options, "proxy_variables", {}))
        return self.carry_out(options, project) or 0


def read(
    options: type[_T], given: Given, root: Path, environ: Mapping[str, str] = os.environ
) -> _T:
    """The values of ``options`` that the user gave, then those of settings, and then the defaults.

    A default path is one below the project ``root``. See ``find`` for what settings raise.

    Raises:
        UsageError: what has to exist does not, or a value is needed and nothing has it.
    """
    fields = declared(options)
    open_settings = [
        field for field in fields if field.option.setting and not _is_settled(field, fields, given)
    ]
    found: Mapping[str, Any] = {}
    if open_settings:
        # By name, because help is not to wait for what this imports.
        found = import_module("cannery.cli.defaults").find(open_settings, root, environ)
    values: dict[str, Any] = {}
    from_settings: set[str] = set()
    for field in fields:
        if field.name in given:
            value = given[field.name]
            values[field.name] = tuple(value) if field.repeated else value
            _require(field, value, f"named with {field.label}")
        elif field in open_settings and field.option.setting in found:
            setting = found[field.option.setting]
            values[field.name] = setting.value
            from_settings.add(field.name)
            if field.name != "artifacts":  # a job that needs none of its files may lack it
                _require(field, setting.value, f"named by {field.option.setting} ({setting})")
        elif field.required and field.option.setting:
            what = f"no {field.option.setting} is named."
            fix = f"Add {field.label} {field.option.metavar}, or set {field.variable}, or write "
            fix += f"'{field.option.setting}' in cannery.toml."
            raise UsageError(Problem(what=what, fix=fix))
        elif isinstance(field.default, Path):
            values[field.name] = root / field.default
    return options(**values, from_settings=frozenset(from_settings))


def _is_settled(field: Declared, fields: Sequence[Declared], given: Given) -> bool:
    """Whether the value of ``field`` is given, or another one that cannot be combined with it."""
    others = (other for other in fields if other.name in given)
    return field.name in given or any(
        field.name in other.option.conflicts or other.name in field.option.conflicts
        for other in others
    )


def _require(field: Declared, value: Any, named: str) -> None:
    kind = _EXISTING.get(field.name)
    if kind and not (value.is_dir() if kind == "folder" else value.is_file()):
        raise UsageError(f"there is no {kind} {value}, {named}.")
    if field.name == "ca":
        try:
            tls_context([value])
        except EngineError as error:
            raise UsageError(error.problems) from error
