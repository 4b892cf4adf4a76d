# SPDX-License-Identifier: Apache-2.0
"""A mistake in exclude, include or overrides of a family is reported at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.families import FAMILY, place, refused

# What is added to FAMILY, where the problem is, what is said of it.
ADDED = {
    "an unknown axis in exclude": (
        "exclude: [{pyton: own}]",
        "pyton",
        "'pyton' in an item of 'exclude' in matrix.yaml.families.many. Did you mean 'python'?",
    ),
    "an unknown value in exclude": (
        "exclude: [{pair: nwe}]",
        "nwe",
        "pair has no 'nwe'. Did you mean 'new'?",
    ),
    "the same exclude again": (
        "exclude: [{pair: new}, {python: own, pair: new}, {pair: new}]",
        "{pair: new}]",
        "this combination is an item of 'exclude' already. Remove one of them.",
    ),
    "the same include in another order": (
        "include: [{python: own, pair: new}, {pair: new, python: own}]",
        "{pair: new, python: own}]",
        "this combination is an item of 'include' already. Remove one of them.",
    ),
    "an unknown axis in include": (
        "include: [{python: own, pair: new, chp: x}]",
        "chp",
        "unknown key 'chp' in an item of 'include'",
    ),
    "an unknown value in include": (
        "include: [{python: onw, pair: new}]",
        "onw",
        "python has no 'onw'. Did you mean 'own'?",
    ),
    "an include without an axis": (
        "include: [{python: own}]",
        "{python: own}]",
        "an item of 'include' in matrix.yaml.families.many has no 'pair'. Add it.",
    ),
    "an exclude of everything": (
        "exclude: [{}]",
        "{}",
        "an item of 'exclude' must name a value of an axis.",
    ),
    "a list in exclude": ("exclude: [[own]]", "[own]", "must be a mapping"),
    "text for exclude": ("exclude: own", "own\n", "'exclude' in matrix.yaml.families.many must be"),
    "a value that is a list": ("exclude: [{pair: [new, old]}]", "[new", "must be text, not a list"),
    "an override of no target": (
        "overrides: {own-nwe: {deepspeed: 0.15.0}}",
        "{deepspeed: 0.15.0}}",
        "many has no target 'own-nwe'. Did you mean 'own-new'?",
    ),
    "an override of a target that is left out": (
        "exclude: [{pair: new}]\n    overrides: {own-new: {torch: {replace: 2.1.0}}}",
        "{torch: {",
        "many has no target 'own-new'. Known: base-old, own-old.",
    ),
    "an override that is text": ("overrides: {own-new: x}", "x}", "must be a mapping"),
    "a list of overrides": ("overrides: [own-new]", "[own-new]", "must be a mapping"),
    "an override of what is there": (
        "overrides: {own-new: {torch: 2.1.0}}",
        "torch: 2.1.0}}",
        "'torch' is in overrides of own-new, and already in pair new. To use this one",
    ),
    "nothing left": (
        "exclude: [{pair: new}, {pair: old}]",
        "[{pair: new}",
        "all targets of many are excluded.",
    ),
}


@pytest.mark.parametrize(("text", "anchor", "said"), ADDED.values(), ids=ADDED)
def test_one_problem_with_combinations(tmp_path: Path, text: str, anchor: str, said: str) -> None:
    text = f"{FAMILY}    {text}\n"
    [problem] = refused(tmp_path, text)
    assert problem.startswith(place(text, anchor))
    assert said in problem
