# SPDX-License-Identifier: Apache-2.0
"""Finds the versions in the text of matrix.yaml, with the targets that use each, and changes them.

Several targets may share one place: the ``common`` of a family, or one value of an axis. A change
replaces only the characters of the version.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import yaml

from cannery.common.errors import MatrixError, Problem, Span
from cannery.common.model import Target
from cannery.common.yaml_reader import Problems, Section
from cannery.matrix.families import expand_families
from cannery.matrix.matrix import Matrix

_NAME = "matrix.yaml"


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


def find_uses(text: str, matrix: Matrix, keys: Sequence[str]) -> list[Use]:
    """Every place with a version of one of ``keys`` in ``text``, which ``matrix`` was read from."""
    places: dict[tuple[str, Span], str] = {}
    users: dict[tuple[str, Span], list[Target]] = {}
    for name, section in _targets(text):
        for key in keys:
            node = section.take(key, required=False)
            if node is not None and name in matrix.targets:
                place = (key, section.problems.span(node))
                places[place] = str(node.value)
                users.setdefault(place, []).append(matrix.targets[name])
    return [
        Use(key=key, version=version, where=where, targets=tuple(users[key, where]))
        for (key, where), version in places.items()
    ]


def _targets(text: str) -> Iterable[tuple[str, Section]]:
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    assert node, "it has been loaded"
    top = Section(node, _NAME, Problems(_NAME))
    if families := top.section("families", required=False):
        yield from expand_families(families).targets
    if targets := top.section("targets", required=False):
        yield from targets.sections()


def rewrite(text: str, moves: Iterable[VersionChange]) -> str:
    """``text`` with the version of every change.

    Raises:
        MatrixError: a version is not written as it is read, as in a text with escapes.
    """
    lines = text.splitlines(keepends=True)
    # From the end, so that a place is still where it was although others on its line have moved.
    for move in sorted(moves, key=lambda move: move.use.where, reverse=True):
        where, old = move.use.where, move.use.version
        line, start = lines[where.line - 1], where.column - 1
        start = _value_at(line, start)
        if line[start : start + len(old)] != old:
            what = f"cannot change {move.use.key} {old}: it is not written as a plain text."
            raise MatrixError(Problem(what=what, fix=f"Write {move.version} there.", where=where))
        lines[where.line - 1] = line[:start] + move.version + line[start + len(old) :]
    return "".join(lines)


def _value_at(line: str, start: int) -> int:
    """Where the text itself begins, after an anchor and a quote if there are any."""
    if line[start : start + 1] == "&":
        start += len(line[start:].split(maxsplit=1)[0])
        start += len(line[start:]) - len(line[start:].lstrip())
    return start + (line[start : start + 1] in ('"', "'"))
