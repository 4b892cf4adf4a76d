# SPDX-License-Identifier: Apache-2.0
"""Reads YAML and TOML files as plain mappings, lists and texts that know where they stand.

Scalars of YAML keep the text that was written: ``3.10`` stays ``3.10``; only true and false are no
texts.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from yaml.reader import ReaderError

from cannery.common.errors import MatrixError, Problem, Span, file_error
from cannery.common.files import read_bytes
from cannery.common.outside import parse_toml

Key = str | int
Steps = Sequence[Key]

MOST_BYTES = 4 << 20
"""The most bytes of a file that people write; the largest has 0.1 MB."""

_MOST_LINES = 1000
"""The most lines of one value of a TOML file; reading a part takes as long for each line more."""

_YAML = "tag:yaml.org,2002:"
_MAX_DEPTH = 100
_NOT_TEXT = (f"{_YAML}bool", f"{_YAML}null")


class Map(dict[str, Any]):
    """A mapping of a file. ``marks`` has the places of its keys and of their values."""

    def __init__(self, mark: yaml.Mark) -> None:
        super().__init__()
        self.mark = mark
        self.marks: dict[str, tuple[yaml.Mark, yaml.Mark]] = {}

    def put(self, key: str, value: Any, marks: tuple[yaml.Mark, yaml.Mark]) -> None:
        """Add ``key``, whose own place is the first of ``marks``, and that of ``value``."""
        self[key] = value
        self.marks[key] = marks

    def place(self, *path: Key) -> Span:
        """The place of the value at ``path``; as far down as there is one."""
        return locate(self, path)[1]

    def place_of_key(self, key: str) -> Span:
        return _span(self.marks[key][0] if key in self.marks else self.mark)


class Items(list[Any]):
    """A list of a file. ``marks`` has the places of its items."""

    def __init__(self, mark: yaml.Mark) -> None:
        super().__init__()
        self.mark = mark
        self.marks: list[yaml.Mark] = []


def read_text(path: Path, name: str) -> str:
    """The text of the file ``path``, which messages call ``name``."""
    try:
        return read_bytes(path, MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise file_error("read", path, error) from error
    except UnicodeDecodeError as error:
        where = end_of(error.object[: error.start].decode("utf-8"), name)
        what = f"this is not UTF-8 text: {error.reason}."
        raise MatrixError(Problem(what=what, fix="Save the file as UTF-8.", where=where)) from error


class _Loader(yaml.CSafeLoader):
    """Resolves no tags but those of true, false and nothing, and notices deep nesting."""

    _depth = 0

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [each for each in resolvers if each[0] in _NOT_TEXT]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def descend_resolver(self, parent: yaml.Node | None, _index: object) -> None:
        """Called by libyaml's binding, which composes by recursion on the stack of the process."""
        self._depth += 1
        if parent and self._depth > _MAX_DEPTH:
            problem = f"values are nested more than {_MAX_DEPTH} deep"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=parent.start_mark)

    def ascend_resolver(self) -> None:
        self._depth -= 1


class _Named(io.StringIO):
    """A text whose marks have the name of its file."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, newline="")
        self.name = name


def load_yaml(text: str, name: str, problems: list[Problem]) -> Map:
    """The mapping in ``text``, the content of the file ``name``; adds to ``problems``.

    Raises:
        MatrixError: it is not YAML, or no mapping.
    """
    try:
        node = yaml.compose(_Named(text, name), Loader=_Loader)
        made = node and _plain(node, problems, {})
    except (UnicodeEncodeError, yaml.YAMLError) as error:
        raise MatrixError(_not_yaml(text, name, error)) from error
    if not isinstance(made, Map):
        what = f"{name} must be a mapping of keys to values." if node else "the file is empty."
        raise MatrixError([*problems, Problem(what=what, where=end_of("", name))])
    return made


def _plain(node: yaml.Node, problems: list[Problem], known: dict[int, Any]) -> Any:
    """The value of ``node``; that of an alias is the value of its anchor."""
    if id(node) in known:
        return known[id(node)]
    if not node.tag.startswith(_YAML):
        problems.append(_problem(node, f"the tag {node.tag!r} has no meaning here.", "Remove it."))
    if isinstance(node, yaml.SequenceNode):
        items = known[id(node)] = Items(node.start_mark)
        for item in node.value:
            items.append(_plain(item, problems, known))
            items.marks.append(item.start_mark)
        return items
    if isinstance(node, yaml.MappingNode):
        made = known[id(node)] = Map(node.start_mark)
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                problems.append(_problem(key, "a key must be plain text."))
            elif key.value in made:
                line = made.marks[key.value][0].line + 1
                what = f"{key.value!r} is given twice, first in line {line}."
                problems.append(_problem(key, what, "Keep one of them."))
            else:
                marks = key.start_mark, value.start_mark
                made.put(key.value, _plain(value, problems, known), marks)
        return made
    if node.value.strip() not in ("", node.value):
        what = f"{node.value!r} begins or ends with a space or a line break."
        problems.append(_problem(node, what, "Remove it."))
    if node.tag == _NOT_TEXT[0]:
        return node.value.lower() in ("true", "yes", "on")
    if node.tag == _NOT_TEXT[1]:
        problems.append(_problem(node, "there is no value.", "Write one, or remove the key."))
        return None
    return node.value


def _problem(node: yaml.Node, what: str, fix: str = "") -> Problem:
    return Problem(what=what, fix=fix, where=_span(node.start_mark))


def _not_yaml(text: str, name: str, error: UnicodeEncodeError | yaml.YAMLError) -> Problem:
    if isinstance(error, UnicodeEncodeError):
        # Text with lone surrogates, as git may hand it out, cannot be encoded as UTF-8.
        return Problem(what="this is not UTF-8 text.", where=end_of(text[: error.start], name))
    if isinstance(error, ReaderError):
        what = f"the character U+{error.character:04X} cannot be in a YAML file."
        where = end_of(text.partition(chr(error.character))[0], name)
        return Problem(what=what, fix="Remove it.", where=where)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "context", None) or error
    return Problem(what=f"this is not YAML: {reason}.", where=_span(mark) if mark else None)


def toml_map(text: str, name: str) -> Map:
    """The tables of ``text``, the content of the valid TOML file ``name``, with their places.

    A value is new in the first statement with which the file up to there has it.
    """
    marks: dict[Steps, yaml.Mark] = {(): yaml.Mark(name, 0, 0, 0, "", 0)}
    lengths: dict[Steps, int] = {}
    table: tuple[Key, ...] = ()
    for number, line, loaded in _statements(text, name):
        if line.lstrip().startswith("["):
            table = _table(loaded, lengths)
            paths: Iterable[tuple[Key, ...]] = (table[: n + 1] for n in range(len(table)))
        else:
            paths = (table + path for path in _paths(loaded, ()))
        mark = yaml.Mark(name, 0, number, len(line) - len(line.lstrip()), "", 0)
        for path in paths:
            marks.setdefault(path, mark)
    made = _placed(parse_toml(text), (), marks)
    assert isinstance(made, Map), "a TOML document is a table"
    return made


def _statements(text: str, name: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """The number of its first line, that line and the value of each statement of a TOML file."""
    lines, begun = text.split("\n"), 0
    for number, line in enumerate(lines, start=1):
        if begun == number - 1 and line.strip()[:1] in ("", "#"):
            begun = number
            continue
        try:
            loaded = parse_toml("\n".join(lines[begun:number]))
        except ValueError:
            if number - begun > _MOST_LINES:
                where = Span(file=name, line=begun + 1, column=1)
                what = f"this value goes on for more than {_MOST_LINES:,} lines."
                raise MatrixError(Problem(what=what, where=where)) from None
            continue  # the statement goes on in the next line
        yield begun, lines[begun], loaded
        begun = number


def _table(header: Any, lengths: dict[Steps, int]) -> tuple[Key, ...]:
    """The path of the table that ``header`` begins; ``lengths`` are those of arrays of tables."""
    path: tuple[Key, ...] = ()
    while header:
        [(key, header)] = header.items()
        path += (key,)
        if isinstance(header, list):
            [header] = header
            lengths[path] = lengths.get(path, 0) + 1
        if path in lengths:
            path += (lengths[path] - 1,)
    return path


def _paths(value: Any, path: tuple[Key, ...]) -> Iterator[tuple[Key, ...]]:
    pairs: Iterable[tuple[Key, Any]] = ()
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _placed(value: Any, path: tuple[Key, ...], marks: Mapping[Steps, yaml.Mark]) -> Any:
    if isinstance(value, dict):
        made = Map(marks[path])
        for key, inner in value.items():
            mark = marks[*path, key]
            made.put(key, _placed(inner, (*path, key), marks), (mark, mark))
        return made
    if isinstance(value, list):
        items = Items(marks[path])
        items += [_placed(inner, (*path, n), marks) for n, inner in enumerate(value)]
        items.marks = [marks[*path, n] for n in range(len(value))]
        return items
    return value


def locate(data: Any, steps: Steps) -> tuple[tuple[Key, ...], Span]:
    """The part of ``steps`` that is a path in ``data``, and its place.

    pydantic adds steps of its own, such as the name of one of the types that a value may have.
    """
    mark, path = data.mark, []
    for step in steps:
        if isinstance(data, Map) and step in data.marks:
            mark = data.marks[str(step)][1]
        elif isinstance(data, Items) and isinstance(step, int) and step < len(data.marks):
            mark = data.marks[step]
        else:
            continue
        data = data[step]
        path.append(step)
    return tuple(path), _span(mark)


def _span(mark: yaml.Mark) -> Span:
    return Span(file=str(mark.name), line=mark.line + 1, column=mark.column + 1)


def end_of(text: str, name: str) -> Span:
    """The place in the file ``name`` after the beginning ``text``."""
    lines = text.split("\n")
    return Span(file=name, line=len(lines), column=len(lines[-1]) + 1)
