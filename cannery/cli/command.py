# SPDX-License-Identifier: Apache-2.0
"""A command: its name, what it does, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

from cannery.options.given import Given, all_declared
from cannery.options.option import Declared, OptionSet


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command.

    ``options`` are the classes of its options, as MODULE.CLASS below ``cannery.options``, so that
    only those of the command in use are imported. ``one_of`` are fields of them of which it needs
    at least one. The words after one that ``passes_on`` are another program's. ``reads`` and
    ``writes`` name files and what else it uses, and ``example`` the words after build.py. The
    module ``cannery.cli.cmd_NAME``, with underscores for hyphens, has ``run(given, project)``.
    """

    name: str
    summary: str
    description: str
    reads: str
    writes: str
    example: str
    options: tuple[str, ...]
    one_of: tuple[str, ...] = ()
    passes_on: bool = False

    @cached_property
    def declared(self) -> tuple[Declared, ...]:
        """Its options, in the order of its help."""
        return all_declared(map(_options_class, self.options))

    @property
    def notes(self) -> str:
        """What the help says after the options, in lines."""
        lines = [f"reads: {self.reads}", f"writes: {self.writes}", "example:"]
        return "\n".join([*lines, f"  python build.py {self.example}"])

    def run(self, given: Given, root: Path) -> int:
        """Do it in the checkout that is in ``root``, and return the exit code.

        Raises:
            CanneryError: as the command's module says.
        """
        # By name, because help is not to wait for what these import.
        project = import_module("cannery.matrix.project").Project(root=root)
        module = import_module(f"cannery.cli.cmd_{self.name.replace('-', '_')}")
        return int(module.run(given, project))


def _options_class(name: str) -> type[OptionSet]:
    module, _, of_it = name.partition(".")
    found: type[OptionSet] = getattr(import_module(f"cannery.options.{module}"), of_it)
    return found
