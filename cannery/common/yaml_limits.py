# SPDX-License-Identifier: Apache-2.0
"""Refuses files that are too large to be a configuration, before they take memory, time or stack.

libyaml builds its tree by recursion, so that deep nesting ends the process without an exception.
The depth is therefore checked while the tree is built.
"""

from __future__ import annotations

import io
import stat
from pathlib import Path

import yaml
from yaml.reader import ReaderError

from cannery.common.errors import FileError, MatrixError, Problem, Span, file_error

MAX_BYTES = 4_000_000
MAX_DEPTH = 100
MAX_VALUES = 500_000
_SHORTEN = "Divide or shorten it."

_TEXT, _MAPPING, _SEQUENCE, _BOOL, _NULL = (
    f"tag:yaml.org,2002:{name}" for name in ("str", "map", "seq", "bool", "null")
)
_TAGS = dict.fromkeys(("", "~", "null", "Null", "NULL"), _NULL) | {
    spelled: _BOOL
    for word in ("yes", "no", "true", "false", "on", "off")
    for spelled in (word, word.title(), word.upper())
}
"""The tags of unquoted scalars that are not text to this program, as YAML 1.1 has them."""


def read_limited(path: Path, name: str) -> str:
    """The text of the regular file at ``path``; messages call it ``name``."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise _not_regular(path, mode)
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise file_error("read", path, error) from error
    if len(content) > MAX_BYTES:
        raise _too_large(name)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        where = place(name, content[: error.start].decode("utf-8"))
        what = f"this is not UTF-8 text: {error.reason}."
        raise MatrixError(Problem(what=what, fix="Save the file as UTF-8.", where=where)) from error


def compose_limited(text: str, name: str) -> yaml.Node | None:
    """The tree of the YAML in ``text``, the content of a file called ``name``; None if it is empty.

    Raises:
        MatrixError: it is too large, nested too deeply, has too many values, or has a tag.
        yaml.YAMLError: it is not YAML.
    """
    if len(text) > MAX_BYTES:
        raise _too_large(name)
    # A value takes at least one character, so a shorter text has not too many of them.
    if len(text) > MAX_VALUES:
        _check_events(text, name)
    loader = _Loader(_Named(text, name))
    try:
        node: yaml.Node | None = loader.get_single_node()
        if not loader.has_tag:
            return node
    except _TooDeepError:
        pass
    finally:
        loader.dispose()
    # The loader knows only that something is wrong, the events also where.
    _check_events(text, name)
    return yaml.compose(_Named(text, name), Loader=yaml.CSafeLoader)


class _Named(io.StringIO):
    """A text whose marks have the name of its file."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, newline="")
        self.name = name


class _TooDeepError(Exception):
    """Ends the composition of values that may be nested too deeply."""


class _Loader(yaml.CSafeLoader):
    """Composes without the tags of numbers and dates, and notices depth and explicit tags."""

    _depth = _nodes = _implicit = 0

    @property
    def has_tag(self) -> bool:
        """Whether a value has an explicit tag; libyaml has the other tags resolved."""
        return self._nodes != self._implicit

    def descend_resolver(self, _parent: yaml.Node | None, _index: object) -> None:
        """Called by libyaml's binding at the beginning of every value."""
        self._nodes += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _TooDeepError

    def ascend_resolver(self) -> None:
        """Called by libyaml's binding at the end of every value."""
        self._depth -= 1

    def resolve(
        self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool] | bool
    ) -> str:
        """The tag of a value that has no explicit one; ``implicit`` is whether it is unquoted."""
        if kind is yaml.ScalarNode:
            self._implicit += 1
            plain = isinstance(implicit, tuple) and implicit[0]
            return _TAGS.get(value or "", _TEXT) if plain else _TEXT
        if implicit:
            self._implicit += 1
        return _MAPPING if kind is yaml.MappingNode else _SEQUENCE


def _check_events(text: str, name: str) -> None:
    """Raise what ``compose_limited`` raises, from events, which need neither stack nor tree."""
    depth = values = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        else:
            values += 1
        if tag := getattr(event, "tag", None):
            what = f"the tag {tag!r} has no meaning here."
            raise _at(event, name, what, "Remove it.")
        if depth > MAX_DEPTH:
            raise _at(event, name, f"values are nested more than {MAX_DEPTH} deep.")
        if values > MAX_VALUES:
            raise _at(event, name, f"the file has more than {MAX_VALUES:,} values.")


def _not_regular(path: Path, mode: int) -> FileError:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    what = f"cannot read {path}: it is {kind}, not a regular file."
    return FileError(Problem(what=what, fix="Check that it is there and that you may read it."))


def _too_large(name: str) -> MatrixError:
    what = f"{name} is larger than {MAX_BYTES // 1_000_000} MB, the most that is read."
    return MatrixError(Problem(what=what, fix=_SHORTEN))


def _at(event: yaml.Event, name: str, what: str, fix: str = _SHORTEN) -> MatrixError:
    mark = event.start_mark
    where = Span(file=name, line=mark.line + 1, column=mark.column + 1) if mark else None
    return MatrixError(Problem(what=what, fix=fix, where=where))


def place(name: str, before: str) -> Span:
    """The place in the file ``name`` that the text ``before`` ends at."""
    lines = before.split("\n")
    return Span(file=name, line=len(lines), column=len(lines[-1]) + 1)


def not_yaml(text: str, name: str, error: UnicodeEncodeError | yaml.YAMLError) -> MatrixError:
    """What ``text`` has that cannot be read at all, and where."""
    where: Span | None = None
    what = f"this is not YAML: {error}."
    fix = ""
    if isinstance(error, UnicodeEncodeError):
        # Text with lone surrogates, as git may hand it out, cannot be encoded as UTF-8.
        what, where = "this is not UTF-8 text.", place(name, text[: error.start])
    elif isinstance(error, ReaderError):
        what = f"the character U+{error.character:04X} cannot be in a YAML file."
        fix, where = "Remove it.", place(name, text.partition(chr(error.character))[0])
    elif isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        what = f"this is not YAML: {error.problem or error.context}."
        where = Span(file=name, line=mark.line + 1, column=mark.column + 1) if mark else None
    return MatrixError(Problem(what=what, fix=fix, where=where))
