# SPDX-License-Identifier: Apache-2.0
"""Texts that a regular expression finds: one for each alternative in it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

sre: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

MOST = 400
_CLASSES = {
    sre.CATEGORY_DIGIT: "7",
    sre.CATEGORY_NOT_DIGIT: "x",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: "x",
    sre.CATEGORY_WORD: "w",
    sre.CATEGORY_NOT_WORD: " ",
}


def samples(pattern: str) -> list[str]:
    """Texts for each alternative of ``pattern``, each of which it finds."""
    return [*dict.fromkeys(islice(_of(parser.parse(pattern)), MOST))]


def _of(tree: Iterable[Any]) -> Iterator[str]:
    """The texts of a sequence; every choice in it is in one of them at least."""
    parts = [[*dict.fromkeys(_one(op, value))] for op, value in tree]
    for turn in range(max([1, *map(len, parts)])):
        yield "".join(part[turn % len(part)] for part in parts if part)


def _one(op: Any, value: Any) -> list[str]:  # noqa: PLR0911 - one for each operation
    if op is sre.LITERAL:
        return [chr(value)]
    if op is sre.NOT_LITERAL:
        return ["x" if value != ord("x") else "y"]
    if op is sre.ANY:
        return ["x"]
    if op is sre.IN:
        return _in(value)
    if op is sre.BRANCH:
        return [text for branch in value[1] for text in _of(branch)]
    if op is sre.SUBPATTERN:
        return [*_of(value[-1])]
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least, _, inner = value
        texts = [*_of(inner)]
        return [text * max(least, 1) for text in texts] if least else ["", *texts]
    assert op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT), op
    return []


def _in(choices: list[Any]) -> list[str]:
    if choices[0][0] is sre.NEGATE:
        literals = {chr(value) for op, value in choices[1:] if op is sre.LITERAL}
        spaces = any(value is sre.CATEGORY_SPACE for op, value in choices[1:])
        return [
            next(c for c in ("x", "7", "_") if c not in literals) if spaces or literals else "x"
        ]
    found = []
    for op, value in choices:
        if op is sre.LITERAL:
            found.append(chr(value))
        elif op is sre.RANGE:
            found.append(chr(value[0]))
        else:
            found.append(_CLASSES[value])
    return found
