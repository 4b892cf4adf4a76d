# SPDX-License-Identifier: Apache-2.0
"""Turns what readers asked of mappings into a JSON schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cannery.common.errors import MatrixError, Problem
from schemas.recorder import Recorder, Request

Schema = dict[str, Any]


def document(title: str, seen: Sequence[Recorder]) -> Schema:
    """The whole schema of a file, from one recorder for each document of its sample.

    Raises:
        MatrixError: the sample does not show the value of a key, or when a key is required.
    """
    texts = {"type": "array", "items": {"$ref": "#/definitions/text"}, "uniqueItems": True}
    # Editors know draft-07 best. The readers take a number as the text that was written.
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        **_mapping(seen),
        "definitions": {
            "text": {"type": ["string", "number"], "pattern": r"^\S([\s\S]*\S)?$"},
            "texts": texts,
            "some_texts": {**texts, "minItems": 1},
        },
    }


def _mapping(seen: Sequence[Recorder]) -> Schema:
    """The schema of a mapping, from the recorders of all that stand in the same place."""
    keys = dict.fromkeys(key for each in seen for key in each.asked)
    free = [each.free for each in seen if each.free.kinds]
    schema: Schema = {"type": "object"}
    if not keys and not free:
        return schema
    if keys:
        schema["properties"] = {
            key: _value([each.asked[key] for each in seen if key in each.asked], key, seen[0])
            for key in keys
        }
    if required := frozenset.intersection(*(each.required for each in seen)):
        schema["required"] = [key for key in keys if key in required]
    schema["additionalProperties"] = _value(free, "any name", seen[0]) if free else False
    if cases := _cases(seen):
        schema["anyOf"] = cases
    return schema


def _value(asked: Sequence[Request], key: str, parent: Recorder) -> Schema:
    below = [inner for each in asked for inner in each.below]
    choices = list(dict.fromkeys(name for each in asked for name in each.choices))
    forms: list[Schema] = []
    for kind in sorted({kind for each in asked for kind in each.kinds}):
        if kind == "text":
            forms.append({"enum": choices} if choices else {"$ref": "#/definitions/text"})
        elif kind in ("texts", "some texts"):
            forms.append({"$ref": f"#/definitions/{kind.replace(' ', '_')}"})
        elif kind == "flag":
            forms.append({"type": "boolean"})
        elif below:
            inner = _mapping(below)
            forms.append(inner if kind == "section" else {"type": "array", "items": inner})
    if not forms:
        raise _open_question(parent, f"{parent.name} shows no value of {key!r}.")
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _open_question(at: Recorder, what: str) -> MatrixError:
    fix = "Add an example to the sample."
    return MatrixError(Problem(what=what, fix=fix, where=at.problems.span(at.node)))


def _cases(seen: Sequence[Recorder]) -> list[Schema]:
    """The keys that only some of ``seen`` have or require, case by case; empty without such."""
    groups: dict[tuple[frozenset[str], frozenset[str]], list[Recorder]] = {}
    for each in seen:
        groups.setdefault((frozenset(each.asked), each.required), []).append(each)
    if len(groups) == 1:
        return []
    telling = _telling([*groups.values()])
    if not telling:
        what = f"{seen[0].name} and its like do not show when a key is required."
        raise _open_question(seen[0], what)
    every = frozenset.union(*(keys for keys, _ in groups))
    always = frozenset.intersection(*(required for _, required in groups))
    return [
        _case(group, telling, absent=every - keys, required=required - always)
        for (keys, required), group in groups.items()
    ]


def _telling(groups: list[list[Recorder]]) -> list[str]:
    """The keys whose answers tell the groups apart: no two groups share an answer."""
    found = []
    for key in sorted({key for group in groups for each in group for key in each.answers}):
        values = [{each.answers.get(key) for each in group} for group in groups]
        if sum(map(len, values)) == len(set.union(*values)):
            found.append(key)
    return found


def _case(
    group: list[Recorder], telling: list[str], *, absent: frozenset[str], required: frozenset[str]
) -> Schema:
    properties: dict[str, Any] = dict.fromkeys(absent, False)
    needed = {*required}
    for key in telling:
        values = {each.answers[key] for each in group}
        if values == {False}:
            properties[key] = False
            continue
        if values != {True}:
            properties[key] = {"enum": sorted(map(str, values))}
        if group[0].asked[key].default not in values:
            needed.add(key)
    case: Schema = {"properties": dict(sorted(properties.items()))} if properties else {}
    return case | ({"required": sorted(needed)} if needed else {})
