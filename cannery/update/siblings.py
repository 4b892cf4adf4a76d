# SPDX-License-Identifier: Apache-2.0
"""Adds to a family of matrix.yaml a value of an axis that is like another one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from cannery.common.errors import MatrixError, Problem
from cannery.common.model import Target
from cannery.compat.facts import Compat
from cannery.matrix.files import MATRIX, Data
from cannery.matrix.matrix import Matrix
from cannery.matrix.schema import parse_files
from cannery.matrix.text import Entry, MatrixText

_PLAIN = re.compile(r"[A-Za-z0-9._+/][A-Za-z0-9._+/ ()=<>-]*")
"""Text that needs no quotes in a mapping in braces."""

Change = Callable[[tuple[str, ...], str], str]
"""The new text of the scalar at a place below a value, and its old text."""


@dataclass(frozen=True, kw_only=True)
class AxisValue:
    """A value of an axis that is written out, not taken from an anchor.

    ``excluded`` are the combinations with it that its family excludes.
    """

    family: str
    axis: str
    name: str
    node: yaml.MappingNode
    excluded: tuple[yaml.Node, ...]

    def keys(self) -> set[str]:
        return {name for name, _, _ in _pairs(self.node)}

    def get(self, *path: str) -> str:
        """The text of the scalar at ``path``; "" if there is none."""
        node: yaml.Node | None = self.node
        for step in path:
            node = next((value for name, _, value in _pairs(node) if name == step), None)
        return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


@dataclass(frozen=True, kw_only=True)
class NewValue:
    """A value ``name`` beside the value ``like``, with its scalars as ``change`` returns them.

    The definitions ``also`` are added before it.
    """

    name: str
    like: AxisValue
    change: Change
    also: Sequence[Entry] = ()


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """A proposal: the ids of its targets, their locks, and the matrix's ``files`` with it.

    With a ``problem``, nothing is written for it, and ``files`` are those from before.
    """

    what: str
    files: Data
    targets: tuple[str, ...] = ()
    locks: Mapping[Path, str] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Known:
    """What new targets are judged by.

    ``lock`` returns the files of a target's lock, and raises MatrixError if it has none.
    """

    compat: Compat
    lock: Callable[[Target], Mapping[Path, str]]


def axis_values(files: Data) -> Iterator[AxisValue]:
    """Every value of an axis in matrix.yaml that is a mapping of its own."""
    root = yaml.compose(files[MATRIX], Loader=yaml.CSafeLoader)
    families = next((value for name, _, value in _pairs(root) if name == "families"), None)
    for family, _, below in _pairs(families):
        parts = {name: node for name, _, node in _pairs(below)}
        rules = parts["exclude"].value if "exclude" in parts else []
        for axis, _, values in _pairs(parts.get("axes")):
            for name, key, node in _pairs(values):
                is_alias = node.start_mark.index < key.start_mark.index
                if not isinstance(node, yaml.MappingNode) or is_alias:
                    continue
                place = (axis, name)
                with_it = (r for r in rules if place in ((k, v.value) for k, _, v in _pairs(r)))
                yield AxisValue(
                    family=family, axis=axis, name=name, node=node, excluded=(*with_it,)
                )


def with_value(files: Data, what: str, value: Callable[[Data], NewValue], known: Known) -> Proposed:
    """``files`` with the ``value`` made for them, whose targets are judged and locked.

    ``what`` names it for users. A MatrixError becomes the problem of the proposal.
    """
    try:
        new = value(files)
        like, before, matrix = new.like, parse_files(files).targets, MatrixText(files)
        what = f"{what}, as {like.name} of family {like.family}"
        for where, lines in new.also:
            matrix.add(where, lines)
        family = ("families", like.family)
        value_line = f"{new.name}: {_flow(like.node, new.change, ())}"
        matrix.add((*family, "axes", like.axis), (value_line,))
        if like.excluded:
            names = {like.axis: new.name}
            rules = [
                _flow(rule, lambda p, text: names.get(p[0], text), ()) for rule in like.excluded
            ]
            matrix.add((*family, "exclude"), rules)
        after = judged(matrix.files, known.compat).targets
        added = [target for target in after.values() if target.id not in before]
        is_same = all(_content(after.get(name)) == _content(old) for name, old in before.items())
        if not (added and is_same):
            problem = "matrix.yaml cannot be changed by program: write the new target by hand."
            return Proposed(what=f"{what}.", files=files, problem=problem)
        locks = {path: text for target in added for path, text in known.lock(target).items()}
    except MatrixError as error:
        return Proposed(what=f"{what}.", files=files, problem=str(error))
    targets = tuple(target.id for target in added)
    return Proposed(what=f"{what}.", files=matrix.files, targets=targets, locks=locks)


def judged(files: Data, compat: Compat) -> Matrix:
    """The matrix of ``files``, which have lines that are in no file yet.

    Raises:
        MatrixError: it is refused; the message names no lines.
    """
    try:
        return parse_files(files, compat)
    except MatrixError as error:
        refused = [
            Problem(what=f"the proposed target is refused: {problem.what}", fix=problem.fix)
            for problem in error.problems
        ]
        raise MatrixError(refused) from error


def _pairs(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        yield str(key.value), key, value


def _flow(node: yaml.Node, change: Change, place: tuple[str, ...]) -> str:
    """``node`` in braces; scalars that ``change`` makes empty are left out."""
    if isinstance(node, yaml.MappingNode):
        values = ((key, _flow(value, change, (*place, key))) for key, _, value in _pairs(node))
        return "{" + ", ".join(f"{key}: {text}" for key, text in values if text) + "}"
    if isinstance(node, yaml.SequenceNode):
        return "[" + ", ".join(_flow(item, change, place) for item in node.value) + "]"
    text = change(place, str(node.value))
    return text if not text or _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _content(target: Target | None) -> object:
    return target and (
        target.components,
        target.requirements,
        target.platform,
        target.chip,
        target.artifacts,
    )
