# SPDX-License-Identifier: Apache-2.0
"""Reads the command line: which machine is simulated, where its files lie, and what runs on it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ..packages.packer.chips import load_chip
from ..packages.packer.spec import PLAIN
from .errors import UsageError, did_you_mean
from .facts import Facts, Release
from .install import CPU_WHEELS, Installation, installation

COMMANDS = {
    "run": "run a program on simulated cards",
    "env": 'print the environment for a shell: eval "$(ascend-sim env)"',
    "install": "install a torch and its torch_npu with pip",
}
MOST_CARDS = 64
_MEMORY = re.compile(r"([1-9][0-9]{0,4})([GM])")
_MARK = "-sim"
"""The driver's own version always ends in it."""


@dataclass(frozen=True)
class Machine:
    """The simulated host; ``memory_mb`` is the memory of a chip in MiB."""

    cards: int
    chip: str
    release: Release
    driver: str
    memory_mb: int


@dataclass(frozen=True)
class Request:
    """``folder`` is None for the cache; ``alone`` says that torch_npu may be missing.

    ``lenient``: data types pass that an NPU refuses.
    """

    command: str
    machine: Machine
    folder: Path | None
    alone: bool
    lenient: bool
    program: list[str]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See '{self.prog} --help'.")


_INSTALL: dict[str, dict[str, Any]] = {
    "--torch": {"metavar": "VERSION", "required": True, "help": "as in 2.9.0"},
    "--torch-npu": {
        "metavar": "VERSION",
        "default": "",
        "help": "as in 2.9.0.post2 (the newest for that torch)",
    },
    "--wheels": {
        "metavar": "URL|DIR",
        "default": CPU_WHEELS,
        "help": "an index of torch's wheels for the CPU, or a folder of them (%(default)s)",
    },
}


def _options(command: str, facts: Facts) -> dict[str, dict[str, Any]]:
    """The options of a command, with what argparse is told of each."""
    if command == "install":
        return _INSTALL
    chips = ", ".join(facts.chips)
    return {
        "--cards": {"default": str(facts.cards), "help": "devices that torch counts (%(default)s)"},
        "--chip": {"default": facts.chips[0], "help": f"{chips} (%(default)s)"},
        "--cann": {"metavar": "VERSION", "help": "release (that which the torch_npu is made for)"},
        "--driver": {"metavar": "VERSION", "help": "its version (that of the CANN release)"},
        "--memory": {
            "metavar": "SIZE",
            "help": "the memory of a chip, as in 64G or 512M (that of the model)",
        },
        "--folder": {
            "metavar": "DIR",
            "type": Path,
            "help": "where the files of the simulated host are kept (a folder of the cache)",
        },
        "--lenient": {"action": "store_true", "help": "take data types that an NPU refuses"},
        "--no-torch-npu": {"action": "store_true", "help": "go on if torch_npu is not installed"},
    }


def _parser(facts: Facts) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ascend-sim",
        description="Simulated Ascend NPUs for torch_npu; results say nothing about an NPU.",
    )
    parser.add_argument("--version", action="version", version=f"ascend-sim {facts.version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, about in COMMANDS.items():
        each = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
        for option, told in _options(name, facts).items():
            each.add_argument(option, **told)
        if name == "run":
            words = "-- PROGRAM [ARGUMENT...]"
            each.add_argument("program", nargs=argparse.REMAINDER, metavar=words)
    return parser


def parse(arguments: Sequence[str], facts: Facts, torch_npu: str) -> Request | Installation:
    """What ``arguments`` ask for; ``torch_npu`` is the installed version, or "".

    Raises:
        UsageError: with every mistake in them.
    """
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise UsageError(
            f"unknown command {arguments[0]!r}. {did_you_mean(arguments[0], COMMANDS)}"
        )
    given, unknown = _parser(facts).parse_known_args(arguments)
    problems = [_unknown(name, _options(given.command, facts)) for name in unknown]
    if given.command == "install":
        if problems:
            raise UsageError(*problems)
        return installation(given.torch, given.torch_npu, given.wheels, facts)
    program = getattr(given, "program", [])
    if program[:1] == ["--"]:
        program = program[1:]
    if given.command == "run" and not program and not problems:
        problems.append("the program is missing. Write it as in 'ascend-sim run -- pytest'.")
    machine = _machine(given, facts, torch_npu, problems)
    if problems or machine is None:
        raise UsageError(*problems)
    alone, lenient = given.no_torch_npu, given.lenient
    return Request(given.command, machine, given.folder, alone, lenient, program)


def _unknown(argument: str, options: Iterable[str]) -> str:
    if not argument.startswith("-"):
        return f"unexpected argument {argument!r}."
    name = argument.partition("=")[0]
    return f"unknown option {name!r}. {did_you_mean(name, options)}"


def _machine(
    given: argparse.Namespace, facts: Facts, torch_npu: str, problems: list[str]
) -> Machine | None:
    """The machine that is asked for; None, and its mistakes in ``problems``, if there is none."""
    release = _release(given, facts, torch_npu, problems)
    cards = int(given.cards) if re.fullmatch(r"[0-9]{1,3}", given.cards) else 0
    if not 1 <= cards <= MOST_CARDS:
        problems.append(f"--cards {given.cards!r} is not a number from 1 to {MOST_CARDS}.")
    memory = _memory(given, facts, problems)
    if given.driver is not None and not PLAIN.fullmatch(given.driver):
        problems.append(f"--driver {given.driver!r} is not a version. Write it as in 25.5.1.")
    if problems or release is None:
        return None
    driver = (given.driver or release.driver).removesuffix(_MARK)
    return Machine(cards, given.chip, release, driver, memory)


def _memory(given: argparse.Namespace, facts: Facts, problems: list[str]) -> int:
    """The memory of a chip in MiB; 0, and what is wrong in ``problems``, where there is none."""
    if given.memory is None:
        return load_chip(given.chip).memory_mb if given.chip in facts.chips else 0
    memory = _MEMORY.fullmatch(given.memory.upper())
    if not memory:
        problems.append(f"--memory {given.memory!r} is not a size. Write it as in 64G or 512M.")
        return 0
    return int(memory[1]) << (10 if memory[2] == "G" else 0)


def _release(
    given: argparse.Namespace, facts: Facts, torch_npu: str, problems: list[str]
) -> Release | None:
    if given.chip not in facts.chips:
        problems.append(
            f"--chip {given.chip!r} is not simulated. {did_you_mean(given.chip, facts.chips)}"
        )
    public = torch_npu.partition("+")[0]
    cann = given.cann or facts.cann_of_torch_npu.get(public, facts.newest)
    release = facts.releases.get(cann)
    if release is None:
        problems.append(f"--cann {cann!r} is not known. {did_you_mean(cann, facts.releases)}")
    elif given.chip in facts.chips and given.chip not in release.kernels:
        others = [each.version for each in facts.releases.values() if given.chip in each.kernels]
        made = f", for which torch_npu {public} was made," if given.cann is None and public else ""
        problems.append(
            f"CANN {cann}{made} has no kernels for {given.chip}: the newest that has them is "
            f"--cann {others[-1]}."
        )
    return release
