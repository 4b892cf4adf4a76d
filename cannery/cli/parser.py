# SPDX-License-Identifier: Apache-2.0
"""Reads the command line. Nothing slow is imported until a command runs, so that help is quick."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from cannery import __version__
from cannery.cli.arguments import add_options
from cannery.cli.command import Command
from cannery.cli.commands import COMMANDS, OF_DOCTOR
from cannery.common import console
from cannery.common.errors import Problem, UsageError, closest, did_you_mean
from cannery.options.given import Given, check

_EPILOG = """\
examples:
  python build.py --target py39-torch231-cann8t39 --simulate   build and check on a simulated NPU
  python build.py --target 'py39-*' --artifacts /data/cann     build from the vendor's files
  python build.py --all --plan                                 show what would be built, and why
  python build.py --resume                                     continue an interrupted run
  python build.py push --target ID --registry registry.example.com   publish an image
  python build.py list                                         show the targets
  python build.py help push                                    show the options of a command

'build' is the default command.

exit codes:
  0 done  2 wrong use  3 matrix or lock  4 out of sync or out of date  5 vendor files
  6 engine, registry  7 build failed  8 a check failed  9 files  10 publishing refused
  11 another run  14 vulnerability  130 interrupted
"""

DEFAULT = "build"
"""The command that is meant where the words begin with an option."""

HELP = "help"
"""The command that shows the help of another one."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message += "" if message.endswith(("?", ".")) else "."
        raise UsageError(f"{message} See '{self.prog} --help'.")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(str(value), [str(choice) for choice in action.choices])
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - has no public name
                if value in OF_DOCTOR:
                    hint = f"It is 'ascend-doctor {value}', here: python build.py doctor {value}."
                self.error(f"unknown command {value!r}. {hint}")
            raise argparse.ArgumentError(action, f"invalid value {value!r}. {hint}".rstrip())


class _Overview(argparse.RawDescriptionHelpFormatter):
    """The help of build.py itself.

    Every parser makes one, which would import shutil for the width of the terminal.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=max(console.terminal_width() - 2, 11))


class _Help(_Overview):
    """The help of a command."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep the lines of ``text`` apart, and fold those that are not commands."""
        fill = partial(argparse.HelpFormatter._fill_text, self)  # noqa: SLF001 - is overridden
        lines = text.split("\n")
        return "\n".join(
            line if line.startswith(" ") else fill(line, width, indent) for line in lines
        )


def parse(words: Sequence[str]) -> tuple[Command, Given]:
    """The command that ``words`` name first, and the options that it is given.

    Raises:
        UsageError: with everything that is wrong with them.
        SystemExit: help or the version was asked for, and was printed.
    """
    if words and words[0] == HELP:
        words = [*words[1:], "--help"]
    if words and words[0] in COMMANDS and COMMANDS[words[0]].passes_on:
        return COMMANDS[words[0]], {"words": words[1:]}
    if words and words[0] in COMMANDS:
        _refuse_unknown(COMMANDS[words[0]], words[1:])
    given = vars(_parser(*words[:1]).parse_args(words))
    command = COMMANDS[words[0]]
    if problems := check(command.declared, given, command.one_of):
        raise UsageError(problems)
    return command, given


def print_help() -> None:
    """Print which commands there are."""
    _parser().print_help()


def complete_parser() -> argparse.ArgumentParser:
    """The parser with the options of every command, and those of the default one without it."""
    parser = _parser(*COMMANDS)
    add_options(parser, COMMANDS[DEFAULT].declared)
    return parser


def _parser(*names: str) -> argparse.ArgumentParser:
    """The parser, with the options of the commands ``names``.

    Where all of these are commands, it has no others, of which each would take its time.
    """
    parser = _Parser(
        prog="build.py",
        description="Builds and checks container images for Huawei Ascend NPUs.",
        epilog=_EPILOG,
        formatter_class=_Overview,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"cannery {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    known = [COMMANDS[name] for name in names if name in COMMANDS]
    for each in known or COMMANDS.values():
        own = commands.add_parser(
            each.name,
            help=each.summary,
            description=each.description,
            epilog=each.notes,
            formatter_class=_Help,
            allow_abbrev=False,
        )
        if each.name in names:
            add_options(own, each.declared)
    text = "show the options of a command"
    own = commands.add_parser(HELP, help=text, description=text, allow_abbrev=False)
    text = "the command (default: all)"
    own.add_argument("name", nargs="?", choices=[*COMMANDS], metavar="COMMAND", help=text)
    return parser


def _refuse_unknown(command: Command, words: Sequence[str]) -> None:
    """Raise UsageError for options that ``command`` does not have, whatever else is wrong.

    argparse would first complain of what is required, and offers no name that is near.
    """
    known = {flag for each in command.declared for flag in each.flags} | {"-h", "--help"}
    problems = []
    for word in words:
        if word == "--":
            break
        flag = word.partition("=")[0] if word.startswith("--") else word[:2]
        if _OPTION.match(word) and flag not in known:
            hint = closest(flag, known) if flag.startswith("--") else ""
            fix = f"Did you mean {hint!r}?" if hint else ""
            fix = f"{fix} See 'build.py {command.name} --help'.".strip()
            problems.append(Problem(what=f"unknown option {flag!r}.", fix=fix))
    if problems:
        raise UsageError(problems)


_OPTION = re.compile(r"-[^0-9 ][^ ]*$")
"""What argparse takes for an option: no number, and without a space."""
