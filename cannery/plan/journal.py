# SPDX-License-Identifier: Apache-2.0
"""What the last run was asked for and how far it got, so that it can be resumed.

The file is replaced whole whenever a target gets further: a run that is killed leaves a good one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from cannery.errors import FileError, Problem, UsageError
from cannery.files import read_text, write_files

_SCHEMA = 1
_SAID = {"simulate": bool, "no_test": bool, "force": bool, "asked_index": bool, "jobs": int}
_TEXTS = ("artifacts", "ca", "builder")
_LISTS = ("named", "cache_to", "cache_from")


class Progress(StrEnum):
    """How far a target got."""

    WAITING = "waiting"
    BUILT = "built"
    DONE = "done"
    """Verified, where the run verifies, and named."""
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One target: what it was built as, once it was."""

    progress: Progress
    key: str = ""
    image: str = ""
    why: str = ""

    @property
    def finished(self) -> bool:
        return self.progress in (Progress.DONE, Progress.SKIPPED)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The options of a run, less what is secret: of a package index only that one was named."""

    simulate: bool = False
    no_test: bool = False
    force: bool = False
    asked_index: bool = False
    jobs: int = 1
    artifacts: str = ""
    ca: str = ""
    builder: str = ""
    named: tuple[str, ...] = ()
    cache_to: tuple[str, ...] = ()
    cache_from: tuple[str, ...] = ()


@dataclass
class Journal:
    """The run that is written down in ``path``."""

    path: Path
    asked: RunSettings
    entries: dict[str, Entry] = field(default_factory=dict)

    def note(self, target: str, progress: Progress, **more: str) -> None:
        """Write down how far ``target`` got; ``more`` is of its Entry, what is not said stays.

        Raises:
            FileError: it cannot be written.
        """
        before = self.entries.get(target, Entry(progress=progress))
        self.entries[target] = replace(before, **{"why": "", **more}, progress=progress)
        self.keep()

    def keep(self) -> None:
        """Write the file.

        Raises:
            FileError: it cannot be written.
        """
        content = {
            "schema": _SCHEMA,
            "asked": asdict(self.asked),
            "targets": {name: asdict(entry) for name, entry in self.entries.items()},
        }
        write_files({self.path: json.dumps(content, indent=1, ensure_ascii=False) + "\n"})


def read_journal(path: Path) -> Journal:
    """The journal of the last run.

    Raises:
        UsageError: there was none.
        FileError: the file is none that build.py writes.
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
        raise FileError(Problem(what=f"{path} is no journal of this build.py.", fix=fix)) from error


def _journal(path: Path, loaded: Mapping[str, Any]) -> Journal:
    if loaded["schema"] != _SCHEMA:
        raise ValueError
    entries = {str(name): _entry(each) for name, each in loaded["targets"].items()}
    return Journal(path=path, asked=_asked(loaded["asked"]), entries=entries)


def _entry(loaded: Mapping[str, Any]) -> Entry:
    texts = {name: loaded[name] for name in ("key", "image", "why")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TypeError
    return Entry(progress=Progress(loaded["progress"]), **texts)


def _asked(loaded: Mapping[str, Any]) -> RunSettings:
    found: dict[str, Any] = {}
    for name, kind in {
        **_SAID,
        **dict.fromkeys(_TEXTS, str),
        **dict.fromkeys(_LISTS, list),
    }.items():
        if type(loaded[name]) is not kind:
            raise TypeError
        found[name] = tuple(map(str, loaded[name])) if kind is list else loaded[name]
    return RunSettings(**found)
