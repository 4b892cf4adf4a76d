# SPDX-License-Identifier: Apache-2.0
"""``ascend-sim``: runs a program of the user's on simulated cards, or prints their environment."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from ..packages.packer.chips import load_chip
from .environment import environment, for_a_shell
from .errors import CommandError, SimError, UnusableError, nearest
from .facts import Facts
from .host import prepared
from .install import Installation, install
from .interpreter import program_of_this_python
from .options import Machine, Request, parse

LENIENT = "NPUSIM_LENIENT"
"""The variable that the device reads."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out ``arguments``, those of this process by default; the exit code."""
    try:
        _carry_out(sys.argv[1:] if arguments is None else arguments)
    except SimError as error:
        for problem in error.problems:
            print(f"ascend-sim: {problem}", file=sys.stderr)
        return error.exit_code
    return 0


def _carry_out(arguments: Sequence[str]) -> None:
    facts = Facts.read()
    request = parse(arguments, facts, _version("torch_npu"))
    _require_machine(facts)
    if isinstance(request, Installation):
        install(request)
        return
    _require_torch_npu(request)
    root = prepared(request.machine, facts, request.folder)
    variables = environment(root)
    if request.lenient:
        variables[LENIENT] = "1"
    print(_banner(request.machine, variables), file=sys.stderr, flush=True)
    if request.command == "env":
        print(for_a_shell(variables), end="")
    else:
        program = request.program
        if not request.alone:
            program[0] = program_of_this_python(program[0], variables["PATH"])
        _start(program, variables)


def _version(package: str) -> str:
    """The version of an installed package; "" if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _require_machine(facts: Facts) -> None:
    """Raises UnusableError for another machine than the wheel's."""
    here = (platform.system(), platform.machine())
    if here != ("Linux", facts.architecture):
        raise UnusableError(
            f"this ascend-sim is for Linux on {facts.architecture}, and this is "
            f"{' on '.join(here)}: install the wheel for it."
        )


def _require_torch_npu(request: Request) -> None:
    """Raises UnusableError for a Python without it."""
    missing = [name for name in ("torch", "torch_npu") if not _version(name)]
    if missing and not request.alone:
        raise UnusableError(
            f"{sys.executable} has no {' and no '.join(missing)}: install both with 'ascend-sim "
            "install --torch VERSION', or give --no-torch-npu for a program that needs neither."
        )


def _banner(machine: Machine, variables: dict[str, str]) -> str:
    cards = f"{machine.cards} card{'s' if machine.cards > 1 else ''}"
    lenient = variables.get(LENIENT) == "1"
    return (
        f"ascend-sim: SIMULATED {cards} of Ascend{load_chip(machine.chip).name}, "
        f"CANN {machine.release.version}, driver {machine.driver}-sim; "
        "results say nothing about an NPU"
        + ("; --lenient: data types that an NPU refuses are taken" if lenient else "")
    )


def _start(program: list[str], variables: dict[str, str]) -> NoReturn:
    """Become ``program``, so that signals and its exit code need no passing on."""
    name = program[0]
    try:
        os.execvpe(name, program, variables)
    except (FileNotFoundError, NotADirectoryError) as error:
        close = "" if "/" in name else nearest(name, _programs(variables["PATH"]))
        hint = f" Did you mean {close!r}?" if close else ""
        raise CommandError(f"there is no program {name!r}.{hint}", found=False) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "") or str(error)
        raise CommandError(f"{name!r} cannot be started: {reason.lower()}.", found=True) from error


def _programs(path: str) -> list[str]:
    """The names of the files in the folders of ``path``."""
    return sorted({name for folder in path.split(":") for name in _names(Path(folder))})


def _names(folder: Path) -> list[str]:
    try:
        return [each.name for each in folder.iterdir()]
    except OSError:
        return []
