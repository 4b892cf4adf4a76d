# SPDX-License-Identifier: Apache-2.0
"""Adds declared options to a parser of argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from cannery.options.option import Declared

TARGETS = "targets"
"""The kind of word, for the completion in a shell, that is the id of a target."""


def add_options(parser: argparse.ArgumentParser, options: Iterable[Declared]) -> None:
    """Add ``options``, each below its heading. What is not typed is not in the namespace."""
    options = [*options]
    labels = {each.name: each.label for each in options}
    groups: dict[str, argparse._ArgumentGroup] = {}
    for each in options:
        title = each.option.group
        if title and title not in groups:
            groups[title] = parser.add_argument_group(title)
        place = groups[title] if title else parser
        action = place.add_argument(*(each.flags or (each.name,)), **_arguments(each, labels))
        if kind := _completed(each):
            # Where 'completion' looks for it.
            vars(action)["complete"] = kind


def _arguments(each: Declared, labels: Mapping[str, str]) -> dict[str, Any]:
    """What ``add_argument`` is told of an option beside its flags."""
    own = each.option
    found: dict[str, Any] = {"default": argparse.SUPPRESS, "help": _help(each, labels)}
    if each.flags:
        found |= {"dest": each.name, "required": each.required}
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


def _help(each: Declared, labels: Mapping[str, str]) -> str:
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
