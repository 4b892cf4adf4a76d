# SPDX-License-Identifier: Apache-2.0
"""Adds entries to the texts of YAML files; keeps comments, blank lines and order."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from cannery.common.errors import MatrixError, Problem
from cannery.matrix.files import FACTS, Data

Entry = tuple[tuple[str, ...], tuple[str, ...]]
"""Where in the file something is added, and its lines; to a list, its new items."""


class MatrixText:
    """The texts of matrix.yaml and the files that are read with it, by name.

    They have loaded without problems. Of what several have, the first one's counts.
    """

    def __init__(self, files: Data) -> None:
        self._before = files
        self._texts = {name: YamlText(text, name) for name, text in files.items() if name != FACTS}

    @property
    def files(self) -> Data:
        """The files as they are now."""
        return {**self._before, **{name: each.text for name, each in self._texts.items()}}

    def keys(self, *path: str) -> list[str]:
        """The keys of the mapping at ``path``; empty if there is no such mapping."""
        return [*dict.fromkeys(key for each in self._texts.values() for key in each.keys(*path))]

    def value(self, *path: str) -> str:
        """The text of the scalar at ``path``; "" if there is none."""
        return next(filter(None, (each.value(*path) for each in self._texts.values())), "")

    def items(self, *path: str) -> list[str]:
        """The texts of the list at ``path``; empty if there is no such list."""
        return next(filter(None, (each.items(*path) for each in self._texts.values())), [])

    def lines(self, *path: str) -> list[str]:
        """The lines of the entry at ``path``, which is one of a block, without its indent."""
        return self._holder(path).lines(*path)

    def add(self, path: Sequence[str], entry: Sequence[str]) -> None:
        """Append ``entry``, whose first line has no indent, to the mapping or list at ``path``.

        Raises:
            MatrixError: the file is not made of block mappings there.
        """
        self._holder(path).add(path, entry)

    def _holder(self, path: Sequence[str]) -> YamlText:
        """The file that has ``path``; the first one if none has."""
        texts = [*self._texts.values()]
        return next((each for each in texts if each.at(path) is not None), texts[0])


class YamlText:
    """The text of one file, which has loaded without problems."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self._name = name
        self._root: yaml.Node | None = None

    def keys(self, *path: str) -> list[str]:
        """The keys of the mapping at ``path``; empty if there is no such mapping."""
        node = self.at(path)
        if not isinstance(node, yaml.MappingNode):
            return []
        return [str(key.value) for key, _ in node.value]

    def value(self, *path: str) -> str:
        """The text of the scalar at ``path``; "" if there is none."""
        node = self.at(path)
        return str(node.value) if isinstance(node, yaml.ScalarNode) else ""

    def items(self, *path: str) -> list[str]:
        """The texts of the list at ``path``; empty if there is no such list."""
        node = self.at(path)
        items = node.value if isinstance(node, yaml.SequenceNode) else []
        return [str(item.value) for item in items if isinstance(item, yaml.ScalarNode)]

    def lines(self, *path: str) -> list[str]:
        """The lines of the entry at ``path``, which is one of a block, without its indent."""
        parent = self.at(path[:-1])
        assert isinstance(parent, yaml.MappingNode)
        key, value = next(pair for pair in parent.value if pair[0].value == path[-1])
        first, indent = key.start_mark.line, key.start_mark.column
        last = max(key.end_mark.line, _last_line(value))
        return [line[indent:].rstrip("\r\n") for line in self._lines()[first : last + 1]]

    def add(self, path: Sequence[str], entry: Sequence[str]) -> None:
        """Append ``entry``, whose first line has no indent, to the mapping or list at ``path``."""
        node = self.at(path)
        if isinstance(node, yaml.SequenceNode) and node.value:
            self._extend(path, node, entry)
            return
        if node is None and len(path) == 1:
            self._add_section(path[0], entry)
            return
        if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
            where = ".".join(path)
            fix = f"Write {where} as an indented mapping with at least one key, then retry."
            what = f"cannot add to {where} in {self._name}: it is not an indented mapping."
            raise MatrixError(Problem(what=what, fix=fix))
        lines = self._lines()
        indent = node.value[0][0].start_mark.column
        first = node.value[0][0].start_mark.line
        end = _last_line(node)
        while not lines[end].strip():  # those that end a block text
            end -= 1
        end = self._with_comments(lines, end, indent)
        spaced = any(not line.strip() for line in lines[first : end + 1])
        self._insert(lines, end + 1, entry, indent=indent, spaced=spaced)

    def _extend(self, path: Sequence[str], node: yaml.SequenceNode, items: Sequence[str]) -> None:
        """Append ``items`` to the list ``node`` at ``path``."""
        parent = self.at(path[:-1])
        keys = {key.value: key for key, _ in parent.value} if parent else {}
        is_alias = path[-1] in keys and node.start_mark.index < keys[path[-1]].start_mark.index
        if is_alias:
            where = ".".join(path)
            what = f"cannot add to {where} in {self._name}: it is an alias."
            raise MatrixError(Problem(what=what, fix=f"Write {where} as [a, b], then retry."))
        lines = self._lines()
        if not node.flow_style:
            block = [f"- {each}" for each in items]
            indent = node.start_mark.column
            self._insert(lines, _last_line(node) + 1, block, indent=indent, spaced=False)
            return
        line = lines[node.end_mark.line]
        end = line.rindex("]", 0, node.end_mark.column)
        lines[node.end_mark.line] = f"{line[:end]}, {', '.join(items)}{line[end:]}"
        self._root = None
        self.text = "".join(lines)

    def _add_section(self, name: str, entry: Sequence[str]) -> None:
        """Add a new top-level section: targets at the end of the file, others before the families.

        It goes just before the comment that belongs to the first family or target.
        """
        lines = self._lines()
        root = self.at(())
        assert isinstance(root, yaml.MappingNode)
        block = [f"{name}:", *("  " + line for line in entry)]
        users = [key for key, _ in root.value if key.value in ("families", "targets")]
        if name == "targets" or not users:
            self._insert(lines, len(lines), block, indent=0, spaced=True)
            return
        place = users[0].start_mark.line
        while place and lines[place - 1].startswith("#"):
            place -= 1
        self._insert(lines, place, [*block, ""], indent=0, spaced=False)

    def at(self, path: Sequence[str]) -> yaml.Node | None:
        if self._root is None:
            self._root = yaml.compose(self.text, Loader=yaml.CSafeLoader)
        node = self._root
        for step in path:
            if not isinstance(node, yaml.MappingNode):
                return None
            node = next((value for key, value in node.value if key.value == step), None)
        return node

    def _lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    @staticmethod
    def _with_comments(lines: list[str], end: int, indent: int) -> int:
        """The last line of the comment that follows ``end`` and belongs to it; else ``end``."""
        while end + 1 < len(lines):
            line = lines[end + 1]
            if not line.lstrip().startswith("#") or len(line) - len(line.lstrip()) <= indent:
                break
            end += 1
        return end

    def _insert(
        self, lines: list[str], place: int, entry: Sequence[str], *, indent: int, spaced: bool
    ) -> None:
        newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
        block = [(" " * indent + line if line else "") + newline for line in entry]
        if spaced:
            block.insert(0, newline)
        if place and not lines[place - 1].endswith(("\n", "\r")):
            lines[place - 1] += newline
        self._root = None
        self.text = "".join([*lines[:place], *block, *lines[place:]])


def _last_line(node: yaml.Node) -> int:
    """The line, counted from 0, on which the last value in ``node`` ends."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        key, value = node.value[-1]
        # The value of an alias is where its anchor is; the alias itself is beside the key.
        is_alias = value.start_mark.index < key.start_mark.index
        return int(key.end_mark.line) if is_alias else max(key.end_mark.line, _last_line(value))
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        is_alias = last.start_mark.index < node.start_mark.index
        return int(node.end_mark.line) - 1 if is_alias else _last_line(last)
    end = int(node.end_mark.line)
    # A block text ends where the next thing begins.
    return end - 1 if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") else end
