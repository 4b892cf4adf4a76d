# SPDX-License-Identifier: Apache-2.0
"""Reads the command line, by the options that the commands declare."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from cannery import __version__
from cannery.cli.command import Command, Given, check
from cannery.cli.commands import GROUPS, SUMMARIES, load
from cannery.cli.removed import removal
from cannery.common import console
from cannery.common.errors import Problem, UsageError, closest, did_you_mean
from cannery.common.option import Declared

DEFAULT = "build"
"""The command that is meant where the words begin with an option."""

HELP = "help"
"""The word before a command that asks for its help."""

TARGETS = "targets"
"""The kind of word, for the completion in a shell, that is the id of a target."""

_ABOUT = "Builds and checks container images for Huawei Ascend NPUs."
_WORDS = "_words"
_FEW = 9
_OPTION = re.compile(r"-[^0-9 ][^ ]*$")
"""What argparse takes for an option: no number, and without a space."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message += "" if message.endswith(("?", ".")) else "."
        raise UsageError(f"{message} See '{self.prog} --help'.")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            hint = did_you_mean(str(value), choices)
            if hint.startswith("Did") and len(choices) < _FEW:
                hint += f" Known: {', '.join(choices)}."
            raise argparse.ArgumentError(action, f"invalid value {value!r}. {hint}".rstrip())


class _Help(argparse.RawDescriptionHelpFormatter):
    """The help of a command."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=max(console.terminal_width() - 2, 11))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Keep the lines of ``text`` apart, and fold those that are not commands."""
        fill = partial(argparse.HelpFormatter._fill_text, self)  # noqa: SLF001 - is overridden
        lines = text.split("\n")
        return "\n".join(
            line if line.startswith(" ") else fill(line, width, indent) for line in lines
        )


def parse(words: Sequence[str]) -> tuple[Command, Given]:
    """The command that ``words`` name first, and the options that it is given."""
    if words[0] == HELP:
        words = [*(word for word in words[1:] if word != HELP), "--help"]
    if words[0] in ("-h", "--help"):
        print(overview())
        raise SystemExit(0)
    if words[0] == "--version":
        print(f"cannery {__version__}")
        raise SystemExit(0)
    name, words = words[0], words[1:]
    if name not in SUMMARIES:
        raise UsageError(_unknown(name))
    command = load(name)
    if command.passes_on:
        return command, {"words": words}
    _refuse_unknown(command, words)
    given = _given(command, words)
    if problems := check(command.declared, given, command.one_of):
        raise UsageError(problems)
    return command, given


def _unknown(name: str) -> Problem:
    if problem := removal(name):
        return problem
    if hint := closest(name, SUMMARIES):
        fix = f"Did you mean {hint!r}? See 'build.py --help'."
    else:
        fix = f"To build a target: 'build.py build {name}'. All commands: 'build.py --help'."
    return Problem(what=f"unknown command {name!r}.", fix=fix)


def overview() -> str:
    """Which commands there are, in at most 40 lines of 80 characters."""
    lines = ["usage: build.py COMMAND [ID ...] [OPTION ...]", "", _ABOUT]
    width = max(map(len, SUMMARIES))
    for title, group in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {name:<{width}}  {summary}" for name, summary in group.items()]
    return "\n".join(
        [
            *lines,
            "",
            "'build.py help COMMAND' shows the options of a command and an example;",
            "'build.py --target ID' is a build; 'build.py help completion' is for your shell.",
            "Exit codes: docs/reference.md",
        ]
    )


def complete_parser() -> argparse.ArgumentParser:
    """The parser with the options of every command, and those of the default one without it."""
    parser = _Parser(prog="build.py", description=_ABOUT, allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)
    for name in SUMMARIES:
        own = load(name)
        _add_options(commands.add_parser(name, help=own.summary), own.declared)
    commands.add_parser(HELP, help="show the options of a command").add_argument(
        "name", nargs="?", choices=[*SUMMARIES]
    )
    _add_options(parser, [each for each in load(DEFAULT).declared if each.flags], words=False)
    return parser


def _given(command: Command, words: Sequence[str]) -> dict[str, Any]:
    """What ``words`` say. Words without a flag may stand between options, and after ``--``."""
    parser = _Parser(
        prog=f"build.py {command.name}",
        description=command.description,
        epilog=command.notes,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    _add_options(parser, command.declared)
    rest = [each.name for each in command.declared if each.option.rest]
    after: Sequence[str] = ()
    if rest and "--" in words:
        index = words.index("--")
        words, after = words[:index], words[index + 1 :]
    given = vars(parser.parse_intermixed_args(words))
    for each in command.declared:
        if each.option.words and (typed := given.pop(each.name + _WORDS, None)):
            given[each.name] = [*typed, *given.get(each.name, ())]
    for name in rest:
        if typed := [*given.pop(name, ()), *after]:
            given[name] = typed
    return given


def _add_options(
    parser: argparse.ArgumentParser, options: Iterable[Declared], *, words: bool = True
) -> None:
    """Add ``options``, each below its heading. What is not typed is not in the namespace."""
    options = [*options]
    labels = {each.name: each.label for each in options}
    groups: dict[str, argparse._ArgumentGroup] = {}
    for each in options:
        title = each.option.group
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title)
        place = groups[title] if title else parser
        actions = [place.add_argument(*(each.flags or (each.name,)), **_arguments(each, labels))]
        if each.option.words and words:
            own: dict[str, Any] = {
                "metavar": each.option.words,
                "nargs": "*",
                "default": argparse.SUPPRESS,
            }
            own["help"] = each.option.help
            actions.append(parser.add_argument(each.name + _WORDS, **own))
        for action in actions:
            if kind := _completed(each):
                # Where 'completion' looks for it.
                vars(action)["complete"] = kind


def _arguments(each: Declared, labels: Mapping[str, str]) -> dict[str, Any]:
    """What ``add_argument`` is told of an option beside its flags."""
    own = each.option
    found: dict[str, Any] = {"default": argparse.SUPPRESS, "help": help_of(each, labels)}
    if each.flags:
        found |= {"dest": each.name, "required": each.required and not own.words}
    if each.kind is bool:
        return found | {"action": "store_false" if each.default else "store_true"}
    found |= {"type": _reader(each), "metavar": own.metavar or None}
    if own.choices:
        found |= {"choices": own.choices}
    if own.count:
        found |= {"nargs": own.count}
    if each.repeated and each.flags:
        found |= {"action": "extend" if own.count else "append"}
    return found


def _completed(each: Declared) -> str:
    """What a shell completes the value to: the ids of targets, files, or folders."""
    if each.name in ("targets", "names", "target"):
        return TARGETS
    if each.kind is Path:
        return "directory" if each.option.metavar == "DIR" else "file"
    return ""


def help_of(each: Declared, labels: Mapping[str, str]) -> str:
    """What it does, how often it may be given, the option that it needs, and its default."""
    default = each.option.default_text
    if not default and each.kind is not bool and not each.repeated and each.default is not None:
        default = str(each.default)
    notes = ["repeatable"] if each.repeated and each.flags else []
    notes += [f"with {labels[each.option.needs]}"] if each.option.needs else []
    notes += [f"default: {default}"] if default else []
    return each.option.help + (f" ({'; '.join(notes)})" if notes else "")


def _reader(each: Declared) -> Callable[[str], Any]:
    """Reads a value; relative paths are taken from the working directory."""

    def read(text: str) -> Any:
        try:
            value = each.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return value.absolute() if isinstance(value, Path) else value

    return read


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
            unknown = Problem(what=f"unknown option {flag!r}.", fix=fix)
            problems.append(removal(command.name, flag) or unknown)
    if problems:
        raise UsageError(problems)
