# SPDX-License-Identifier: Apache-2.0
"""Keeps what was computed from files, until one of the files or this program changes.

Files are compared as make and git compare them: by size, inode and times. An entry counts only if
it is younger than all files that it was computed from, so that a change within one tick of the file
system's clock is noticed, and only if nobody else could have written it. A cache that is damaged,
that others may write, or that cannot be written is as good as an empty one.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from cannery.common.errors import FileError
from cannery.common.files import write_files

PROGRAM = Path(__file__).parents[1]
T = TypeVar("T")

_PACKAGES = ("jinja2", "packaging", "yaml")
"""The packages whose behaviour shows in what is computed."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The state of what something is computed from: a hash, and its last change in ns."""

    digest: str
    newest: int = 0


def inputs_of(texts: Iterable[str], paths: Iterable[Path] = ()) -> Inputs:
    """The state of ``texts``, of the files and folders ``paths``, and of this program.

    That a path leads to nothing is a state, too. Links to files are followed.
    """
    program, since = _program()
    found = _states(map(str, paths))
    return Inputs(
        digest=hash_of((program, [*texts], found)), newest=max([since, *map(_changed, found)])
    )


def inputs_of_each(
    texts: Mapping[str, str], folder: Path, shared: Iterable[Path]
) -> dict[str, Inputs]:
    """As ``inputs_of`` for each name of ``texts``: its text, the files below ``folder``/name, and
    those that are ``shared`` by all. ``folder`` is looked at once, so a link in it is a link.
    """
    common = inputs_of([], shared)
    prefix = f"{folder}{os.sep}"
    found: dict[str, list[_State]] = {name: [] for name in texts}
    for state in _states([str(folder)]):
        name = state[0].removeprefix(prefix).partition(os.sep)[0]
        if name in found:
            found[name].append(state)
    return {
        name: Inputs(
            digest=hash_of((common.digest, texts[name], states)),
            newest=max([common.newest, *map(_changed, states)]),
        )
        for name, states in found.items()
    }


@dataclass(frozen=True, kw_only=True)
class Cache:
    """The entries in ``folder``: one file each, a hash of the inputs and the text, and the text."""

    folder: Path

    def get(self, name: str, inputs: Inputs) -> str | None:
        """The text that ``name`` was computed to from these ``inputs``; None if that is unknown."""
        digest, text, written = self._entry(name)
        known = written > inputs.newest and digest == _digest(inputs, text)
        return text if known else None

    def _entry(self, name: str) -> tuple[str, str, int]:
        """The hash, the text and the time in ns of an entry; a hash that none has without one."""
        try:
            content, written = _own_content(self.folder / name)
            digest, _, text = content.decode().partition("\n")
        except (OSError, UnicodeDecodeError):
            return "", "", 0
        return digest, text, written

    def noted(self, name: str, each: Mapping[str, Inputs]) -> set[str]:
        """The keys that ``note`` was given with these inputs, if it is younger than them."""
        digest, text, written = self._entry(name)
        if digest != _digest(_NO_INPUTS, text):
            return set()
        known = json.loads(text)
        return {
            key
            for key, inputs in each.items()
            if written > inputs.newest and known.get(key) == inputs.digest
        }

    def note(self, name: str, each: Mapping[str, Inputs]) -> None:
        """Note that what ``name`` stands for is true of each key with these inputs."""
        digests = {key: inputs.digest for key, inputs in each.items()}
        self.keep(name, _NO_INPUTS, json.dumps(digests, indent=0))

    def computed(self, name: str, inputs: Inputs, compute: Callable[[], T]) -> T:
        """What ``compute`` returns, which is plain data, or what it returned for these ``inputs``.

        Raises: as ``compute``; then nothing is kept.
        """
        text = self.get(name, inputs)
        if text is None:
            text = json.dumps(compute(), ensure_ascii=False, separators=(",", ":"))
            self.keep(name, inputs, text)
        found: T = json.loads(text)
        return found

    def keep(self, name: str, inputs: Inputs, text: str = "") -> None:
        """Note that ``name`` was computed to ``text``, if that can be written."""
        with suppress(FileError):
            write_files({self.folder / name: f"{_digest(inputs, text)}\n{text}"})


_NO_INPUTS = Inputs(digest="")
"""Those of an entry that has the inputs of each of its keys."""


def _digest(inputs: Inputs, text: str) -> str:
    """What an entry begins with."""
    return hashlib.sha256(f"{inputs.digest} {text}".encode()).hexdigest()


def _own_content(path: Path) -> tuple[bytes, int]:
    """The content of a regular file that only this user may write, and its time in ns.

    Raises:
        OSError: it is none.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        info = os.fstat(handle)
        others = info.st_uid != os.geteuid() or info.st_mode & _OTHERS_WRITE
        if not stat.S_ISREG(info.st_mode) or others:
            raise PermissionError
        return stream.read(), info.st_mtime_ns


@cache
def _program() -> tuple[str, int]:
    """What stands for this program, Python and the packages that it uses; and its last change."""
    origins = (spec.origin for name in _PACKAGES if (spec := find_spec(name)) and spec.origin)
    found = _states([str(PROGRAM), *origins])
    return hash_of((sys.version, found)), max(map(_changed, found))


forget_program = _program.cache_clear
"""Look at the program again: in one run it stays the one that was imported."""


def hash_of(values: object) -> str:
    """The sha256 of what Python writes for ``values``."""
    return hashlib.sha256(repr(values).encode(errors="surrogateescape")).hexdigest()


_State = tuple[str, int, int, int, int, int]
"""A file with its mode, size, inode, and its two times in ns."""


def _changed(state: _State) -> int:
    return max(state[4:])


def _states(paths: Iterable[str]) -> list[_State]:
    """The state of each file of ``paths`` and below them, but of what Python compiled."""
    found: list[_State] = []
    for path in paths:
        _note(found, path)
    return found


def _note(found: list[_State], path: str) -> None:
    """Add the state of ``path``, or of each file below it, in an order that does not change."""
    try:
        with os.scandir(path) as entries:
            for entry in sorted(entries, key=attrgetter("name")):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        _note(found, entry.path)
                elif entry.is_symlink():
                    found.append(_followed(entry.path))
                else:
                    found.append(_state(entry.path, entry.stat(follow_symlinks=False)))
    except (FileNotFoundError, NotADirectoryError):
        found.append(_followed(path))
    except OSError:
        found.append(_unknown(path))


def _followed(path: str) -> _State:
    """The state of what ``path`` leads to, where that is no folder."""
    try:
        info = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return path, 0, 0, 0, 0, 0
    except OSError:
        return _unknown(path)
    return _unknown(path) if stat.S_ISDIR(info.st_mode) else _state(path, info)


def _unknown(path: str) -> _State:
    """The state of what can change unseen: no entry is younger than it."""
    return path, 0, 0, 0, sys.maxsize, sys.maxsize


def _state(path: str, info: os.stat_result) -> _State:
    times = (info.st_mtime_ns, info.st_ctime_ns)
    return (path, info.st_mode, info.st_size, info.st_ino, *times)
