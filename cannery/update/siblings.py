# SPDX-License-Identifier: Apache-2.0
"""Adds to a family of matrix.yaml a value of an axis that is like another one. Pure.

Combinations of the new value with other axes that cannot work are excluded from the family.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import yaml
from packaging.version import Version

from cannery.common.errors import MatrixError, Problem
from cannery.common.model import Target
from cannery.compat import judge, passes
from cannery.compat.facts import Compat
from cannery.lock.index_questions import Answers, Question, runtime_of
from cannery.matrix.families import filled
from cannery.matrix.files import MATRIX, Data
from cannery.matrix.schema import parse_files
from cannery.matrix.text import Entry, MatrixText

_PLAIN = re.compile(r"[A-Za-z0-9._+/][A-Za-z0-9._+/ ()=<>-]*")
"""What needs no quotes in a mapping in braces."""

Change = Callable[[tuple[str, ...], str], str]
"""The new text of the scalar at a place below a value, and its old text."""


@dataclass(frozen=True, kw_only=True)
class AxisValue:
    """A value of an axis that is written out, not taken from an anchor."""

    family: str
    axis: str
    name: str
    node: yaml.MappingNode

    def get(self, *path: str) -> str:
        """The text of the scalar at ``path``; "" if there is none."""
        node: yaml.Node | None = self.node
        for step in path:
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            node = next((value for key, value in pairs if key.value == step), None)
        return str(node.value) if isinstance(node, yaml.ScalarNode) else ""

    def changed(self, change: Change) -> str:
        """The value as a mapping in braces, with every scalar as ``change`` returns it."""
        return _flow(self.node, change, ())


@dataclass(frozen=True, kw_only=True)
class Addition:
    """The files of a matrix with new targets.

    ``refused`` maps the ids of further combinations, which are excluded, to the reasons. If all
    are refused, ``targets`` is empty and ``files`` are as before.
    """

    files: Data
    targets: tuple[str, ...]
    refused: Mapping[str, str]


def axis_values(files: Data) -> Iterator[AxisValue]:
    """Every value of an axis in matrix.yaml that is a mapping of its own."""
    root = yaml.compose(files[MATRIX], Loader=yaml.CSafeLoader)
    for family, axis, name, key, node in _values(root):
        is_alias = node.start_mark.index < key.start_mark.index
        if isinstance(node, yaml.MappingNode) and not is_alias:
            yield AxisValue(family=family, axis=axis, name=name, node=node)


def _values(root: yaml.Node | None) -> Iterator[tuple[str, str, str, yaml.Node, yaml.Node]]:
    for family, _, below in _pairs(_below(root, "families")):
        for axis, _, values in _pairs(_below(below, "axes")):
            for name, key, node in _pairs(values):
                yield family, axis, name, key, node


def _below(node: yaml.Node | None, key: str) -> yaml.Node | None:
    return next((value for name, _, value in _pairs(node) if name == key), None)


def _pairs(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        yield str(key.value), key, value


def _flow(node: yaml.Node, change: Change, place: tuple[str, ...]) -> str:
    if isinstance(node, yaml.MappingNode):
        items = (
            f"{key}: {text}"
            for key, _, value in _pairs(node)
            if (text := _flow(value, change, (*place, key)))
        )
        return "{" + ", ".join(items) + "}"
    if isinstance(node, yaml.SequenceNode):
        return "[" + ", ".join(_flow(each, change, place) for each in node.value) + "]"
    text = change(place, str(node.value))
    return text if not text or _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class NewValue:
    """A value ``name`` to add beside the value ``like``, with the text ``value``.

    The definitions ``also`` are added before it.
    """

    name: str
    value: str
    like: AxisValue
    also: Sequence[Entry] = ()


@dataclass(frozen=True, kw_only=True)
class Known:
    """What new targets are judged by.

    ``answers`` are those of a package index, and ``refusal`` says why a target that compat.yaml
    allows cannot be had, or returns "".
    """

    compat: Compat
    answers: Answers
    refusal: Callable[[Target], str] = lambda _: ""


def with_value(files: Data, new: NewValue, known: Known) -> Addition:
    """``files`` with the value ``new``.

    Raises:
        MatrixError: this cannot be written, or would change other targets.
    """
    like, before = new.like, parse_files(files).targets
    matrix = MatrixText(files)
    for where, lines in new.also:
        matrix.add(where, lines)
    matrix.add(("families", like.family, "axes", like.axis), (f"{new.name}: {new.value}",))
    after = parse_files(matrix.files).targets
    added = [target for target in after.values() if target.id not in before]
    reasons = {target.id: _refusal(target, known) for target in added}
    refused = {target: why for target, why in reasons.items() if why}
    kept = tuple(target for target in reasons if target not in refused)
    if not kept:
        return Addition(files=files, targets=(), refused=refused)
    _exclude(matrix, like, new.name, refused)
    _require_same(parse_files(matrix.files, known.compat).targets, before, kept)
    return Addition(files=matrix.files, targets=kept, refused=refused)


def _refusal(target: Target, known: Known) -> str:
    found = (each for each in judge(target, known.compat) if not passes(each, target))
    said = next((f"{each.text} {each.fix}".strip() for each in found), "")
    return said or _missing(target, known.answers) or known.refusal(target)


def _missing(target: Target, answers: Answers) -> str:
    if not target.torch_npu or target.torch_npu_wheel:
        return ""
    question = Question(package="torch_npu", runtime=runtime_of(target))
    if Version(target.torch_npu) in answers.get(question, ()):
        return ""
    on = f"Python {target.python.minor} on {target.machine}"
    return f"the package index has no torch_npu {target.torch_npu} for {on}."


def _exclude(matrix: MatrixText, like: AxisValue, name: str, refused: Iterable[str]) -> None:
    """Exclude the combinations of the value ``name`` whose ids are in ``refused``."""
    family = ("families", like.family)
    axes = matrix.keys(*family, "axes")
    rule = matrix.value(*family, "id")
    others = [[name] if axis == like.axis else matrix.keys(*family, "axes", axis) for axis in axes]
    items = []
    for names in itertools.product(*others):
        combination = dict(zip(axes, names, strict=True))
        if filled(rule, combination) in refused:
            items.append("{" + ", ".join(f"{a}: {v}" for a, v in combination.items()) + "}")
    if items and "exclude" in matrix.keys(*family):
        matrix.add((*family, "exclude"), items)
    elif items:
        matrix.add(family, (f"exclude: [{', '.join(items)}]",))


def _require_same(
    after: Mapping[str, Target], before: Mapping[str, Target], new: Iterable[str]
) -> None:
    """Raise MatrixError unless ``after`` is ``before`` with the targets ``new``."""
    same = all(name in after and _content(after[name]) == _content(t) for name, t in before.items())
    if not same or {*after} != {*before, *new}:
        what = "matrix.yaml cannot be changed by program: other targets would change, too."
        raise MatrixError(Problem(what=what, fix="Write the new target there by hand."))


def _content(target: Target) -> object:
    return target.components, target.requirements, target.platform, target.chip, target.artifacts
