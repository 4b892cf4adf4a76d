# SPDX-License-Identifier: Apache-2.0
"""The options of the last run and how far it got, so that it can be resumed.

The file is replaced as a whole at every step, so that it is valid even if the run is killed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from cannery.common.errors import FileError, Problem, UsageError
from cannery.common.files import read_text, write_files
from cannery.common.option import Declared, OptionSet, declared
from cannery.options import BuildOptions

_SCHEMA = 2
_T = TypeVar("_T", bound=OptionSet)


class Progress(StrEnum):
    """The state of a target in a run."""

    WAITING = "waiting"
    BUILT = "built"
    DONE = "done"
    """The image has its name; it is verified, unless the run has --no-test."""
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class TargetState:
    """One target. ``key`` and ``image`` are set once it is built; ``why`` is for failures."""

    progress: Progress
    key: str = ""
    image: str = ""
    why: str = ""

    @property
    def finished(self) -> bool:
        return self.progress in (Progress.DONE, Progress.SKIPPED)


@dataclass
class Journal:
    """The run that is stored in ``path``.

    ``named`` are the targets that the user named one by one. ``withheld`` are the names of the
    run's secret options, whose values are not stored.
    """

    path: Path
    options: BuildOptions
    named: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    entries: dict[str, TargetState] = field(default_factory=dict)

    def note(self, target: str, progress: Progress, **more: str) -> None:
        """Store the state of ``target``. ``more`` are fields of its TargetState; other fields stay.

        Raises:
            FileError: the file cannot be written.
        """
        before = self.entries.get(target, TargetState(progress=progress))
        self.entries[target] = replace(before, **{"why": "", **more}, progress=progress)
        self.keep()

    def keep(self) -> None:
        """Write the file.

        Raises:
            FileError: the file cannot be written.
        """
        content = {
            "schema": _SCHEMA,
            "named": self.named,
            "options": remember(self.options, self.withheld),
            "targets": {name: asdict(entry) for name, entry in self.entries.items()},
        }
        write_files({self.path: json.dumps(content, indent=1, ensure_ascii=False) + "\n"})


def read_journal(path: Path) -> Journal:
    """The journal of the last run.

    Raises:
        UsageError: there is no journal.
        FileError: the file is not one that this version of build.py has written.
    """
    try:
        text = read_text(path)
    except FileNotFoundError as error:
        what = "there is no run to resume."
        raise UsageError(Problem(what=what, fix="Start one with --target or --all.")) from error
    try:
        return _journal(path, json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        fix = "Remove it, and start the run again with --target or --all."
        what = f"{path} is not a journal of this version of build.py."
        raise FileError(Problem(what=what, fix=fix)) from error


def _journal(path: Path, loaded: Mapping[str, Any]) -> Journal:
    if loaded["schema"] != _SCHEMA:
        raise ValueError
    entries = {str(name): _entry(each) for name, each in loaded["targets"].items()}
    options, withheld = recall(BuildOptions, loaded["options"])
    named = _texts(loaded["named"])
    return Journal(path=path, options=options, named=named, withheld=withheld, entries=entries)


def _entry(loaded: Mapping[str, Any]) -> TargetState:
    key, image, why = _texts([loaded[name] for name in ("key", "image", "why")])
    return TargetState(progress=Progress(loaded["progress"]), key=key, image=image, why=why)


def _texts(loaded: object) -> tuple[str, ...]:
    """``loaded`` as a list of texts.

    Raises:
        TypeError: it is not one.
    """
    if not isinstance(loaded, list) or not all(isinstance(each, str) for each in loaded):
        raise TypeError
    return tuple(loaded)


def remember(options: OptionSet, withheld: Iterable[str] = ()) -> dict[str, Any]:
    """The remembered fields of ``options``; of secret ones only whether they were given.

    ``withheld`` are the secret ones that were given to an earlier run and are not known any more.
    """
    found: dict[str, Any] = {}
    for each in _remembered(type(options)):
        value = getattr(options, each.name)
        if each.name in withheld or (each.option.withholds(value) and value != each.default):
            found[each.name] = True
        elif each.option.secret:
            found[each.name] = False
        elif each.repeated:
            found[each.name] = [_plain(item) for item in value]
        else:
            found[each.name] = _plain(value)
    return found


def recall(options: type[_T], loaded: Mapping[str, Any]) -> tuple[_T, tuple[str, ...]]:
    """What ``remember`` has written, and the names of the secret options that were given.

    Raises:
        TypeError, ValueError: it is something else.
    """
    expected = {each.name: each for each in _remembered(options)}
    if loaded.keys() != expected.keys():
        raise ValueError(*loaded.keys() ^ expected.keys())
    values: dict[str, Any] = {}
    withheld = []
    for name, each in expected.items():
        value = loaded[name]
        if each.option.secret or (each.option.has_secret and value is True):
            if type(value) is not bool:
                raise TypeError(name)
            withheld += [name] if value else []
        elif each.repeated:
            if type(value) is not list:
                raise TypeError(name)
            values[name] = tuple(_value(each, item) for item in value)
        elif value is not None or not each.optional:
            values[name] = _value(each, value)
    return options(**values), tuple(withheld)


def _remembered(options: type[OptionSet]) -> list[Declared]:
    return [each for each in declared(options) if each.option.remembered]


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _value(each: Declared, value: Any) -> Any:
    if type(value) is not (str if each.kind is Path else each.kind):
        raise TypeError(each.name)
    if each.option.choices and value not in each.option.choices:
        raise ValueError(each.name)
    return value if each.kind is bool else each.read(str(value))
