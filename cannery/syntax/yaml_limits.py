# SPDX-License-Identifier: Apache-2.0
"""Refuses files that are too large to be a configuration, before they take memory, time or stack.

libyaml builds its tree by recursion, so that deep nesting ends the process without an exception.
The limits are therefore checked on the parser's events, which need neither a stack nor a tree.
"""

from __future__ import annotations

import stat
from pathlib import Path

import yaml

from cannery.errors import FileError, MatrixError, Problem, Span, file_error
from cannery.syntax.yaml_errors import place

MAX_BYTES = 4_000_000
MAX_DEPTH = 100
MAX_VALUES = 500_000
_SHORTEN = "Divide or shorten it."


def read_limited(path: Path, name: str) -> str:
    """The text of the regular file at ``path``; messages call it ``name``.

    Raises:
        FileError: it cannot be read, or is a directory, a pipe or a device.
        MatrixError: it has more than ``MAX_BYTES``, or is not UTF-8 text.
    """
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


def require_within_limits(text: str, name: str) -> None:
    """Make sure that the YAML in ``text`` can be composed in little time and stack.

    Raises:
        MatrixError: it is too large, nested too deeply, has too many values, or has a tag.
        yaml.YAMLError: it is not YAML.
    """
    if len(text) > MAX_BYTES:
        raise _too_large(name)
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
