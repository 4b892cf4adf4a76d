# SPDX-License-Identifier: Apache-2.0
"""A YAML file as its edits see it: lines, scalars, and the pairs of its mappings, with places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of the text, from ``start`` up to ``end``, counted in characters."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A key and its value; ``flow`` says that the mapping is written in braces."""

    key: Piece
    value: Piece
    name: str
    flow: bool


@dataclass(kw_only=True)
class Document:
    """One file. Where a value is an alias, only the alias itself is a piece."""

    name: str
    text: str
    scalars: list[tuple[str, Piece]] = field(default_factory=list)
    """Every scalar that is a value, with the key above it."""
    pairs: list[Pair] = field(default_factory=list)
    lists: list[Piece] = field(default_factory=list)
    items: list[Piece] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._seen: set[int] = set()
        # Not the C loader, whose places in a text with a BOM or other letters are bytes.
        top = yaml.compose(self.text, Loader=yaml.SafeLoader)
        assert top is not None
        self._walk(top, "")

    def of(self, piece: Piece) -> str:
        return self.text[piece.start : piece.end]

    def replaced(self, piece: Piece, new: str) -> str:
        return self.text[: piece.start] + new + self.text[piece.end :]

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)

    def _walk(self, node: yaml.Node, above: str) -> None:
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                self._pair(node, key, value)
        elif isinstance(node, yaml.SequenceNode):
            self.lists.append(_piece(node))
            for item in node.value:
                if id(item) not in self._seen:
                    self.items.append(_piece(item))
                    self._walk(item, above)
        else:
            self.scalars.append((above, _piece(node)))

    def _pair(self, node: yaml.MappingNode, key: yaml.Node, value: yaml.Node) -> None:
        place = _piece(key)
        if id(value) in self._seen:
            # An alias: what it stands for has been seen where its anchor is.
            rest = self.text[place.end :]
            begin = place.end + rest.index("*")
            length = len(rest.split("*", 1)[1].split("\n")[0].split("}")[0].split(",")[0])
            below = Piece(start=begin, end=begin + 1 + length)
        else:
            below = _piece(value)
            self._walk(value, str(key.value))
        flow = bool(node.flow_style)
        self.pairs.append(Pair(key=place, value=below, name=str(key.value), flow=flow))


def _piece(node: yaml.Node) -> Piece:
    return Piece(start=node.start_mark.index, end=_end(node))


def _end(node: yaml.Node) -> int:
    """Where ``node`` ends; the mark of a block ends only where the next thing begins."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return node.end_mark.index
    return max(
        _end(each) for each in _inner(node) if each.start_mark.index >= node.start_mark.index
    )


def _inner(node: yaml.CollectionNode) -> Iterator[yaml.Node]:
    for each in node.value:
        yield from each if isinstance(each, tuple) else (each,)
