# SPDX-License-Identifier: Apache-2.0
"""Reads the command line, by the options that the commands declare."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from cannery import __version__
from cannery.cli.command import Command, Given
from cannery.cli.commands import GROUPS, SUMMARIES, load, removal
from cannery.common import console, program
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
    def format_help(self) -> str:
        return program.text(super().format_help())

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
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=max(console.terminal_width() - 2, 11))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
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
        print(program.text(overview()))
        raise SystemExit(0)
    if words[0] == "--version":
        print(f"cannery {__version__}")
        raise SystemExit(0)
    name, words = words[0], words[1:]
    if name not in SUMMARIES:
        hint = closest(name, SUMMARIES)
        fix = f"Did you mean {hint!r}? See 'build.py --help'."
        if not hint:
            fix = f"To build a target: 'build.py build {name}'. All commands: 'build.py --help'."
        unknown = Problem(what=f"unknown command {name!r}.", fix=fix)
        raise UsageError(removal(name) or unknown)
    command = load(name)
    if command.passes_on:
        return command, {"words": words}
    _refuse_unknown(command, words)
    given = _given(command, words)
    if problems := check(command.declared, given, command.one_of):
        raise UsageError(problems)
    return command, given


def check(options: Sequence[Declared], given: Given, one_of: Sequence[str] = ()) -> list[Problem]:
    """The problems of the combination of the options ``given``.

    ``options`` are all that the command takes, ``one_of`` the fields of which it needs one.
    """
    known = {option.name: option for option in options}
    problems = []
    for name in given:
        label, option = known[name].label, known[name].option
        if option.needs and option.needs not in given:
            other_label = known[option.needs].label
            fix = f"Add {other_label}, or leave {label} out."
            problems.append(Problem(what=f"{label} needs {other_label}.", fix=fix))
        for other in option.conflicts:
            if other in given:
                what = f"{label} and {known[other].label} cannot be combined."
                problems.append(Problem(what=what, fix="Leave one of them out."))
    needed = one_of or [name for name, o in known.items() if o.option.words and o.required]
    if needed and not given.keys() & {*needed}:
        ways = [known[name] for name in needed]
        labels = [way.label for way in ways if not way.option.rest]
        if any(way.option.words or way.option.rest for way in ways):
            labels.insert(0, "the ID of one")
        last = f" or {labels.pop()}" if labels[1:] else ""
        other = " and no image" if "image" in needed else ""
        what = f"no target{other} is selected."
        problems.append(Problem(what=what, fix=f"Add {', '.join(labels)}{last}."))
    return problems


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
            "--project DIR: the folder of matrix.yaml, if it is not this one or one above.",
            "Exit codes: docs/reference.md",
        ]
    )


def complete_parser() -> argparse.ArgumentParser:
    """The parser with the options of every command, and those of the default one without it."""
    parser = _Parser(prog="build.py", description=_ABOUT, allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=_Parser)
    for name in SUMMARIES:
        command = load(name)
        _add_options(commands.add_parser(name, help=command.summary), command.declared)
    commands.add_parser(HELP, help="show the options of a command").add_argument(
        "name", nargs="?", choices=[*SUMMARIES]
    )
    options = [option for option in load(DEFAULT).declared if option.flags]
    _add_options(parser, options, words=False)
    return parser


def _given(command: Command, words: Sequence[str]) -> dict[str, Any]:
    lines = [f"reads: {command.reads}", f"writes: {command.writes}", "example:"]
    parser = _Parser(
        prog=f"build.py {command.name}",
        description=command.description,
        epilog="\n".join([*lines, f"  python build.py {command.example}"]),
        formatter_class=_Help,
        allow_abbrev=False,
    )
    _add_options(parser, command.declared)
    rest = [option.name for option in command.declared if option.option.rest]
    after: Sequence[str] = ()
    if rest and "--" in words:
        index = words.index("--")
        words, after = words[:index], words[index + 1 :]
    given = vars(parser.parse_intermixed_args(words))
    for option in command.declared:
        if option.option.words and (typed := given.pop(option.name + _WORDS, None)):
            given[option.name] = [*typed, *given.get(option.name, ())]
    for name in rest:
        # With the '--', because options may follow it.
        if typed := [*given.pop(name, ()), *(["--", *after] if after else ())]:
            given[name] = typed
    return given


def _add_options(
    parser: argparse.ArgumentParser, options: Iterable[Declared], *, words: bool = True
) -> None:
    options = [*options]
    labels = {option.name: option.label for option in options}
    groups: dict[str, argparse._ArgumentGroup] = {}
    for option in options:
        title = option.option.group
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title)
        place = groups[title] if title else parser
        names = option.flags or (option.name,)
        actions = [place.add_argument(*names, **_arguments(option, labels))]
        if option.json:
            text = f"the same as {option.label} json"
            place.add_argument(
                option.json,
                dest=option.name,
                action="store_const",
                const="json",
                default=argparse.SUPPRESS,
                help=text,
            )
        if option.option.words and words:
            actions.append(
                parser.add_argument(
                    option.name + _WORDS,
                    metavar=option.option.words,
                    nargs="*",
                    default=argparse.SUPPRESS,
                    help=option.option.help,
                )
            )
        # Where 'completion' looks for it.
        completed = ""
        if option.name in ("targets", "names", "target"):
            completed = TARGETS
        elif option.kind is Path:
            completed = "directory" if option.option.metavar == "DIR" else "file"
        for action in actions if completed else ():
            vars(action)["complete"] = completed


def _arguments(declared: Declared, labels: Mapping[str, str]) -> dict[str, Any]:
    option = declared.option
    arguments: dict[str, Any] = {"default": argparse.SUPPRESS, "help": help_of(declared, labels)}
    if declared.flags:
        arguments |= {
            "dest": declared.name,
            "required": declared.required and not (option.words or option.setting),
        }
    if declared.kind is bool:
        return arguments | {"action": "store_false" if declared.default else "store_true"}

    def value(text: str) -> Any:
        if not text and not option.rest:
            raise argparse.ArgumentTypeError("the value is empty.")
        try:
            value = declared.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        # Relative paths are taken from the working directory.
        return value.absolute() if isinstance(value, Path) else value

    arguments |= {"type": value, "metavar": option.metavar or None}
    if option.choices:
        arguments |= {"choices": option.choices}
    if option.count:
        arguments |= {"nargs": option.count}
    if declared.repeated and declared.flags:
        arguments |= {"action": "extend" if option.count else "append"}
    return arguments


def help_of(declared: Declared, labels: Mapping[str, str]) -> str:
    """The help with notes: repeatable, the option that it needs, its default and its setting."""
    option, default = declared.option, declared.default
    text = option.default_text
    if not text and declared.kind is not bool and not declared.repeated and default is not None:
        text = str(default)
    notes = ["repeatable"] if declared.repeated and declared.flags else []
    notes += [f"with {labels[option.needs]}"] if option.needs else []
    notes += [f"default: {text}"] if text else []
    notes += [f"setting: {option.setting}"] if option.setting else []
    return option.help + (f" ({'; '.join(notes)})" if notes else "")


def _refuse_unknown(command: Command, words: Sequence[str]) -> None:
    """Raise UsageError for options that ``command`` does not have, whatever else is wrong.

    argparse would first complain of what is required, and offers no name that is near.
    """
    known = {flag for option in command.declared for flag in (*option.flags, option.json)}
    known |= {"-h", "--help"}
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
