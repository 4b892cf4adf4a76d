# SPDX-License-Identifier: Apache-2.0
"""Edits the texts of YAML files: entries, hashes, versions; keeps comments, blank lines and order.

Several targets may share the place of a version: the ``common`` of a family, or one value of an
axis. A change replaces only the characters of the version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import yaml

from cannery.common.documents import load_yaml
from cannery.common.errors import MatrixError, Problem, Span
from cannery.common.model import Target
from cannery.compat.base_rules import WHEEL_SECTIONS
from cannery.matrix.families import Catalogue, expand
from cannery.matrix.files import CATALOGUE, DATA, FACTS, MATRIX, Data, ToolText
from cannery.matrix.matrix import Matrix
from cannery.matrix.schema import parse_files

Entry = tuple[tuple[str, ...], tuple[str, ...]]
"""Where in the file something is added, and its lines; to a list, its new items."""


class MatrixText:
    """The texts of matrix.yaml and the files that are read with it, by name; or of compat.yaml.

    They have loaded without problems. Of what several have, the first one's counts. ``files`` has
    the texts as they are now; those of the tool stay as they are.
    """

    def __init__(self, files: Data) -> None:
        self.files = dict(files)
        self._names = [name for name in files if name not in (FACTS, CATALOGUE)] or [FACTS]
        self._roots: dict[str, yaml.Node | None] = {}

    def keys(self, *path: str) -> list[str]:
        """The keys of the mapping at ``path``; empty if there is no such mapping."""
        nodes = [node for _, _, node in self.nodes(path) if isinstance(node, yaml.MappingNode)]
        return [*dict.fromkeys(str(key.value) for node in nodes for key, _ in node.value)]

    def value(self, *path: str) -> str:
        """The text of the scalar at ``path``; "" if there is none."""
        nodes = (node for _, _, node in self.nodes(path) if isinstance(node, yaml.ScalarNode))
        return next((str(node.value) for node in nodes if node.value), "")

    def items(self, *path: str) -> list[str]:
        """The texts of the list at ``path``; empty if there is no such list."""
        nodes = (node for _, _, node in self.nodes(path) if isinstance(node, yaml.SequenceNode))
        items: list[yaml.Node] = next((node.value for node in nodes if node.value), [])
        return [str(item.value) for item in items if isinstance(item, yaml.ScalarNode)]

    def lines(self, *path: str) -> list[str]:
        """The lines of the entry at ``path``, which is one of a block, without its indent."""
        name, parent, value = next(self.nodes(path))
        key = _key(parent, path[-1])
        first, indent = key.start_mark.line, key.start_mark.column
        last = max(key.end_mark.line, _last_line(value))
        return [line[indent:] for line in self.files[name].splitlines()[first : last + 1]]

    def add(self, path: Sequence[str], entry: Sequence[str]) -> None:
        """Append ``entry``, whose first line has no indent, to the mapping or list at ``path``.

        Raises:
            MatrixError: the file is not made of block mappings there.
        """
        places = [place for place in self.nodes(path) if not self.is_tools(place[0])]
        name, parent, node = places[0] if places else (self._names[0], None, None)
        lines = self.files[name].splitlines(keepends=True)
        where = ".".join(path)
        if isinstance(node, yaml.SequenceNode) and node.value:
            if node.start_mark.index < _key(parent, path[-1]).start_mark.index:
                what = f"cannot add to {where} in {name}: it is an alias."
                raise MatrixError(Problem(what=what, fix=f"Write {where} as [a, b], then retry."))
            if node.flow_style:
                line = lines[node.end_mark.line]
                end = line.rindex("]", 0, node.end_mark.column)
                lines[node.end_mark.line] = f"{line[:end]}, {', '.join(entry)}{line[end:]}"
            else:
                items = [f"- {item}" for item in entry]
                _insert(lines, _last_line(node) + 1, items, indent=node.start_mark.column)
        elif node is None and len(path) == 1:
            self._add_section(lines, name, [f"{path[0]}:", *("  " + line for line in entry)])
        elif isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
            _append(lines, node, entry)
        else:
            fix = f"Write {where} as an indented mapping with at least one key, then retry."
            what = f"cannot add to {where} in {name}: it is not an indented mapping."
            raise MatrixError(Problem(what=what, fix=fix))
        self.files[name] = "".join(lines)
        del self._roots[name]

    def is_tools(self, name: str) -> bool:
        """Whether the file ``name`` belongs to the tool, and not to the project."""
        return isinstance(self.files[name], ToolText)

    def _add_section(self, lines: list[str], name: str, block: Sequence[str]) -> None:
        """Add a new top-level section: targets at the end of the file, others before the families.

        It goes just before the comment that belongs to the first family or target.
        """
        root = self._roots[name]
        assert isinstance(root, yaml.MappingNode)
        users = [key for key, _ in root.value if key.value in ("families", "targets")]
        if block[0] == "targets:" or not users:
            _insert(lines, len(lines), block, spaced=True)
            return
        place = users[0].start_mark.line
        while place and lines[place - 1].startswith("#"):
            place -= 1
        _insert(lines, place, [*block, ""])

    def nodes(self, path: Sequence[str]) -> Iterator[tuple[str, yaml.Node | None, yaml.Node]]:
        """Each file that has ``path``, with the mapping and the value there."""
        for name in self._names:
            if name not in self._roots:
                self._roots[name] = yaml.compose(str(self.files[name]), Loader=yaml.CSafeLoader)
            parent, node = None, self._roots[name]
            for step in path:
                pairs = node.value if isinstance(node, yaml.MappingNode) else ()
                parent, node = node, next((v for key, v in pairs if key.value == step), None)
            if node is not None:
                yield name, parent, node


def _key(parent: yaml.Node | None, name: str) -> yaml.Node:
    assert isinstance(parent, yaml.MappingNode)
    keys: dict[str, yaml.Node] = {key.value: key for key, _ in parent.value}
    return keys[name]


def _append(lines: list[str], mapping: yaml.MappingNode, entry: Sequence[str]) -> None:
    """Add ``entry`` after the last of ``mapping``, and the comment that belongs to that one."""
    first = mapping.value[0][0].start_mark
    end = _last_line(mapping)
    while not lines[end].strip():  # those that end a block text
        end -= 1
    for line in lines[end + 1 :]:
        if not line.lstrip().startswith("#") or len(line) - len(line.lstrip()) <= first.column:
            break
        end += 1
    spaced = any(not line.strip() for line in lines[first.line : end + 1])
    _insert(lines, end + 1, entry, indent=first.column, spaced=spaced)


def _insert(
    lines: list[str], place: int, entry: Sequence[str], *, indent: int = 0, spaced: bool = False
) -> None:
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    block = [(" " * indent + line if line else "") + newline for line in entry]
    if spaced:
        block.insert(0, newline)
    if place and not lines[place - 1].endswith(("\n", "\r")):
        lines[place - 1] += newline
    lines[place:place] = block


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


def has_place(files: Data, name: str) -> bool:
    """Whether ``files`` of a matrix have the file ``name`` without a sha256."""
    return with_sha256(files, name, "0" * 64) != files


def with_sha256(files: Data, name: str, sha256: str, note: str = "") -> Data:
    """``files`` of a matrix with the ``sha256`` of the file ``name``, where it has none.

    It goes beside the name; of a file of a layout, to the others of its CANN release; of a wheel,
    to those of its version. There, ``note`` is the comment of its line.
    """
    line = f"{name}: {sha256}{f'  # {note}' if note else ''}"
    for path in (MATRIX, *DATA):
        if path not in files or isinstance(files[path], ToolText):
            continue
        if text := _with_sha256_beside(files[path], name, sha256):
            return {**files, path: text}
    matrix = MatrixText(files)
    with suppress(MatrixError):  # what cannot be read or edited stays as it is
        if place := next(_of_patterns(parse_files(files), name), ()):
            if matrix.keys(*place, "sha256"):
                matrix.add((*place, "sha256"), (line,))
            else:
                matrix.add(place, ("sha256:", f"  {line}"))
    return matrix.files


def _of_patterns(matrix: Matrix, name: str) -> Iterator[tuple[str, str]]:
    """The definitions with a pattern that stands for the file ``name``, which has no sha256."""
    for version, release in matrix.cann.items():
        packages = [file for each in release.packages.values() for file in each.files]
        if any(file.name == name and not file.hashes for file in packages):
            yield "cann", version
    for target in matrix.targets.values():
        for component, wheel in target.vendor_wheels.items():
            file = target.artifacts[component]
            if file.name == name and not file.sha256 and component in WHEEL_SECTIONS:
                yield WHEEL_SECTIONS[component], wheel.version


def _with_sha256_beside(text: str, name: str, sha256: str) -> str:
    """``text`` with the hash beside ``file: name``; "" where there is no such place."""
    # Not the C loader, whose places in a text with letters beyond ASCII are bytes.
    for mapping in _mappings(yaml.compose(text, Loader=yaml.SafeLoader)):
        pairs = {key.value: (key, value) for key, value in mapping.value}
        if "sha256" in pairs or "file" not in pairs or pairs["file"][1].value != name:
            continue
        key, value = pairs["file"]
        end = value.end_mark.index
        added = f", sha256: {sha256}"
        if not mapping.flow_style:
            newline = "\r\n" if "\r\n" in text else "\n"
            added = f"{newline}{' ' * key.start_mark.column}sha256: {sha256}"
            end += len(text[end:].splitlines()[0]) if text[end:] else 0  # a comment
        return text[:end] + added + text[end:]
    return ""


def _mappings(node: yaml.Node | None) -> Iterator[yaml.MappingNode]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from _mappings(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _mappings(value)


@dataclass(frozen=True, kw_only=True)
class Use:
    """A place in matrix.yaml with the version of ``key``, and the targets that use it."""

    key: str
    version: str
    where: Span
    targets: tuple[Target, ...]


@dataclass(frozen=True, kw_only=True)
class VersionChange:
    """A new version for a use."""

    use: Use
    version: str


def find_uses(
    text: str, matrix: Matrix, keys: Sequence[str], targets: Catalogue = dict
) -> list[Use]:
    """Every place with a version of one of ``keys`` in ``text``, which ``matrix`` was read from.

    ``targets`` returns those that come with the program.
    """
    top = load_yaml(text, MATRIX, [])
    expand(top, targets, [])
    users: dict[tuple[str, str, Span], list[Target]] = {}
    for name, target in top["targets"].items():
        for key in keys:
            if key in target and name in matrix.targets:
                place = (key, target[key], target.place(key))
                if place[-1].file != MATRIX:
                    continue
                users.setdefault(place, []).append(matrix.targets[name])
    return [
        Use(key=key, version=version, where=where, targets=tuple(targets))
        for (key, version, where), targets in users.items()
    ]


def rewrite(text: str, changes: Iterable[VersionChange]) -> str:
    """``text`` with the version of every change.

    Raises:
        MatrixError: a version is not written as it is read, as in a text with escapes.
    """
    lines = text.splitlines(keepends=True)
    # From the end, so that a place is still where it was although others on its line have moved.
    for change in sorted(changes, key=lambda change: change.use.where, reverse=True):
        where, old = change.use.where, change.use.version
        line, start = lines[where.line - 1], where.column - 1
        if line[start : start + 1] == "&":  # an anchor
            start += len(line[start:].split(maxsplit=1)[0])
            start += len(line[start:]) - len(line[start:].lstrip())
        start += line[start : start + 1] in ('"', "'")
        if line[start : start + len(old)] != old:
            what = f"cannot change {change.use.key} {old}: it is not written as a plain text."
            raise MatrixError(Problem(what=what, fix=f"Write {change.version} there.", where=where))
        lines[where.line - 1] = line[:start] + change.version + line[start + len(old) :]
    return "".join(lines)
