# SPDX-License-Identifier: Apache-2.0
"""Reads YAML files with the line of every value, and collects all problems of a file.

Scalars keep the text that was written: ``3.10`` stays ``3.10`` and does not become a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self, TypeVar

import yaml

from cannery.common.errors import MatrixError, Problem, Span, did_you_mean
from cannery.common.yaml_limits import compose_limited, not_yaml, place, read_limited

T = TypeVar("T")

_NOT_TEXT = {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"}

_SPACE = "begins or ends with a space or a line break."
_NO_SPACE = "Remove it."
_KEEP_ONE = "Keep one of them."

MAX_PROBLEMS = 1000
"""How many problems of one file are listed."""


class Problems:
    """Collects the problems of one file, so that all of them are reported at once."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: list[Problem] = []

    def add(self, node: yaml.Node, what: str, fix: str = "") -> None:
        """Note a problem at ``node``.

        Raises:
            MatrixError: with all problems so far, because the file has too many to list.
        """
        if len(self._found) >= MAX_PROBLEMS:
            what = f"There are more problems; only the first {MAX_PROBLEMS:,} are listed."
            raise MatrixError([*self._in_order(), Problem(what=what, where=self.span(node))])
        self._found.append(Problem(what=what, fix=fix, where=self.span(node)))

    @property
    def count(self) -> int:
        return len(self._found)

    def span(self, node: yaml.Node) -> Span:
        mark = node.start_mark
        return Span(file=self.file_of(node), line=mark.line + 1, column=mark.column + 1)

    def file_of(self, node: yaml.Node) -> str:
        """The file that ``node`` was read from: one of several that are read as one."""
        name = str(node.start_mark.name)
        return self.file if name.startswith("<") else name

    def raise_if_any(self) -> None:
        """Raise MatrixError with every problem, in the order of the file."""
        if self._found:
            raise MatrixError(self._in_order())

    def _in_order(self) -> list[Problem]:
        unique = dict.fromkeys(self._found)
        return sorted(unique, key=lambda p: (p.where is None, p.where))


class Section:
    """A YAML mapping that is being read. ``done`` reports unknown and missing keys."""

    def __init__(self, node: yaml.Node, name: str, problems: Problems) -> None:
        self.node = node
        self.name = name
        self.problems = problems
        self._begun = problems.count
        self._known: list[str] = []
        self._absent: list[str] = []
        self._values: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        if not isinstance(node, yaml.MappingNode):
            problems.add(node, f"{name} must be a mapping of keys to values.")
            return
        for key, value in node.value:
            self._remember(key, value)

    def _remember(self, key: yaml.Node, value: yaml.Node) -> None:
        if not isinstance(key, yaml.ScalarNode):
            self.problems.add(key, f"a key in {self.name} must be plain text.")
        elif key.value != key.value.strip():
            self.problems.add(key, f"the key {key.value!r} in {self.name} {_SPACE}", _NO_SPACE)
        elif key.value in self._values:
            first = self._values[key.value][0].start_mark.line + 1
            self.problems.add(
                key,
                f"{key.value!r} is given twice in {self.name}, first in line {first}.",
                _KEEP_ONE,
            )
        else:
            self._values[key.value] = (key, value)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    @property
    def is_faulty(self) -> bool:
        """Whether the file has had a problem since this mapping was begun."""
        return self.problems.count > self._begun

    def take(self, key: str, *, required: bool = True) -> yaml.Node | None:
        """The value of ``key``, or None; ``done`` reports a missing required key."""
        self._known.append(key)
        if key in self._values:
            return self._values[key][1]
        if required and isinstance(self.node, yaml.MappingNode):
            self._absent.append(key)
        return None

    def text(self, key: str, *, required: bool = True, default: str = "") -> str:
        """The text of ``key``; a list, a mapping, true, false or nothing is a problem."""
        node = self.take(key, required=required)
        return default if node is None else self._text_of(node, f"{key!r} in {self.name}")

    def _text_of(self, node: yaml.Node, name: str) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag not in _NOT_TEXT:
            if text := node.value.strip():
                if text != node.value:
                    self.problems.add(node, f"{name} {_SPACE}", _NO_SPACE)
                return str(text)
            self.problems.add(node, f"{name} is empty.", "Write a value.")
            return ""
        kinds: dict[type, str] = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}
        kind = kinds.get(type(node)) or repr(node.value)
        self.problems.add(node, f"{name} must be text, not {kind}.")
        return ""

    def texts(self, key: str, wrong: Callable[[str], str] = lambda _: "") -> tuple[str, ...]:
        """The list of texts under ``key``; ``wrong`` returns the problem of a text, or ""."""
        node = self.take(key, required=False)
        if node is None:
            return ()
        return self._texts_of(node, key, wrong)

    def text_or_texts(self, key: str) -> tuple[str, ...]:
        """The texts under the required ``key``, which has one text or a list of one or more."""
        node = self.take(key)
        if node is None:
            return ()
        if isinstance(node, yaml.SequenceNode) and not node.value:
            self.problems.add(node, f"{key!r} in {self.name} is empty.", "Write a value.")
        if isinstance(node, yaml.SequenceNode):
            return self._texts_of(node, key)
        return (self._text_of(node, f"{key!r} in {self.name}"),)

    def _texts_of(
        self, node: yaml.Node, key: str, wrong: Callable[[str], str] = lambda _: ""
    ) -> tuple[str, ...]:
        if not isinstance(node, yaml.SequenceNode):
            self.problems.add(node, f"{key!r} in {self.name} must be a list.")
            return ()
        name = f"an item of {key!r} in {self.name}"
        texts = tuple(self._text_of(item, name) for item in node.value)
        for number, (item, text) in enumerate(zip(node.value, texts, strict=True)):
            if text and (what := wrong(text)):
                self.problems.add(item, what)
            elif text and text in texts[:number]:
                self.problems.add(item, f"{text!r} is twice in {key!r} of {self.name}.", _KEEP_ONE)
        return texts

    def flag(self, key: str, *, default: bool = False) -> bool:
        """The true or false under ``key``."""
        node = self.take(key, required=False)
        if node is None:
            return default
        if node.tag == "tag:yaml.org,2002:bool":
            return str(node.value).lower() in ("true", "yes", "on")
        self.problems.add(node, f"{key!r} in {self.name} must be true or false.")
        return default

    def section(self, key: str, *, required: bool = True) -> Self | None:
        """The mapping under ``key``."""
        node = self.take(key, required=required)
        return None if node is None else self._below(node, f"{self.name}.{key}")

    def sections(self) -> Iterator[tuple[str, Self]]:
        """Every key of this mapping with the mapping below it."""
        for key, (_, value) in self._values.items():
            self._known.append(key)
            yield key, self._below(value, f"{self.name}.{key}")

    def _below(self, node: yaml.Node, name: str) -> Self:
        own, file = self.problems.file, self.problems.file_of(node)
        if file != own and name.startswith(own):
            name = file + name.removeprefix(own)
        return type(self)(node, name, self.problems)

    def nodes(self) -> list[tuple[yaml.Node, yaml.Node]]:
        """The nodes of every key and its value; of a repeated key the first."""
        return [*self._values.values()]

    def names(self) -> list[str]:
        """Every key of this mapping."""
        return [*self._values]

    def mappings(self, key: str, *, required: bool = False, item: str = "") -> list[Self]:
        """The list of mappings under ``key``; messages call one of them ``item``."""
        node = self.take(key, required=required)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.problems.add(node, f"{key!r} in {self.name} must be a list.")
            return []
        name = item or f"an item of {key!r} in {self.name}"
        return [self._below(each, name) for each in node.value]

    def all_texts(self) -> dict[str, str]:
        """Every key of this mapping with its text."""
        return {key: self.text(key) for key in self.names()}

    def choose(self, key: str, known: dict[str, T], noun: str, default: str = "") -> T | None:
        """The value in ``known`` for the name under ``key``; an unknown name is a problem.

        The key is required where there is no ``default``.
        """
        name = self.text(key, required=not default, default=default)
        if not name or name in known:
            return known.get(name)
        self.wrong(key, f"there is no {noun} {name!r}.", did_you_mean(name, known))
        return None

    def node_of(self, key: str) -> yaml.Node:
        """The value of ``key``, or this mapping itself where it is missing."""
        return self._values[key][1] if key in self._values else self.node

    def at(self, place: Iterable[str | int]) -> yaml.Node:
        """The value at ``place``, keys and numbers of items; as far down as there is one."""
        node = self.node
        for step in place:
            inner: yaml.Node | None = None
            if isinstance(node, yaml.MappingNode):
                inner = next((value for key, value in node.value if key.value == step), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                inner = node.value[step] if step < len(node.value) else None
            if inner is None:
                break
            node = inner
        return node

    def wrong(self, key: str, what: str, fix: str = "") -> None:
        """Report a problem at ``node_of(key)``."""
        self.problems.add(self.node_of(key), what, fix)

    def done(self) -> None:
        """Report every unknown key and every required key that is missing."""
        unknown = {key: node for key, (node, _) in self._values.items() if key not in self._known}
        for key, node in unknown.items():
            hint = did_you_mean(key, self._known)
            self.problems.add(node, f"unknown key {key!r} in {self.name}.", hint)
        for key in self._absent:
            # A misspelt key is one mistake, and has been reported as one.
            if not any(did_you_mean(each, [key]).startswith("Did") for each in unknown):
                self.problems.add(self.node, f"{self.name} has no {key!r}.", "Add it.")


def read_yaml(path: Path, name: str, parse: Callable[[Section], T]) -> T:
    """Read the YAML mapping in ``path`` and hand it to ``parse``.

    Raises:
        FileError: the file cannot be read.
        MatrixError: it is not YAML, exceeds a limit, or ``parse`` found problems.
    """
    return parse_yaml(read_limited(path, name), name, parse)


def parse_yaml(text: str, name: str, parse: Callable[[Section], T]) -> T:
    """Hand the YAML mapping in ``text``, the content of a file called ``name``, to ``parse``."""
    problems = Problems(name)
    section = Section(compose(text, name), name, problems)
    result = parse(section)
    section.done()
    problems.raise_if_any()
    return result


def compose(text: str, name: str) -> yaml.Node:
    """The tree of the YAML in ``text``, the content of a file called ``name``."""
    try:
        node = compose_limited(text, name)
    except (UnicodeEncodeError, yaml.YAMLError) as error:
        raise not_yaml(text, name, error) from error
    if node is None:
        raise MatrixError(Problem(what="the file is empty.", where=place(name, "")))
    return node
