# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a family, its combinations or its overrides is said once, at its own line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.families import FAMILY, HEAD, TARGETS, place, refused
from tests.unit.matrices import edited

TWO_OF_THEM = "    exclude: [{pair: new}]\n"

# What is replaced in FAMILY, by what, where the problem is, what is said of it.
PROBLEMS = {
    "the same key in common and in a value": (
        "own: {base",
        "own: {summary: another, base",
        "summary: another",
        "'summary' is in python own, and already in common of many. To use this one,",
    ),
    "the same key in two values": (
        "new: {torch",
        "new: {base: debian-12, torch",
        "base: debian-12",
        "'base' is in pair new, and already in python ",
    ),
    "a list without a word on merging": (
        "platform: linux/arm64",
        "requirements: [six]\n      platform: linux/arm64",
        "requirements: [tqdm",
        "'requirements' is in pair old, and already in common of many.",
    ),
    "append on text": (
        "new: {torch",
        "new: {summary: {append: [x]}, torch",
        "{append",
        "append needs a list, and 'summary' of common of many is not one.",
    ),
    "a key twice in a value": (
        "new: {torch",
        "new: {deepspeed: 0.9.2, torch",
        "deepspeed: 0.15.0",
        "'deepspeed' is given twice, first in line",
    ),
    "a value without what it is": (
        "own: {base: debian-11, python: own-python}",
        "own: 3.8",
        "3.8",
        "families.many.axes.python.own: this must be a mapping",
    ),
    "no rule": ('    id: "{python}-{pair}"\n', "", "axes:\n", "many has no 'id'. Add it."),
    "a rule with a misspelt axis": (
        "{python}-",
        "{pyton}-",
        '"{pyton}',
        "'pyton' is not an axis. Did you mean 'python'?",
    ),
    "a rule with a number": (
        "{python}-",
        "{0}-",
        '"{0}',
        "'0' is not an axis. Known: pair, ",
    ),
    "a rule with a format": (
        "{python}-",
        "{python:>9}-",
        '"{python:',
        "is not an axis. Did you mean 'python'?",
    ),
    "a rule with a conversion": (
        "{python}-",
        "{python!z}-",
        '"{python!',
        "is not an axis. Did you mean 'python'?",
    ),
    "a rule with an open bracket": (
        "{python}-",
        "{python-",
        '"{python-',
        "'{python-{pair}' is not an axis.",
    ),
    "a rule that leaves out an axis": (
        "{python}-{pair}",
        "{pair}",
        '"{pair}',
        "two combinations have the id 'new'. Use every axis in the id.",
    ),
}


@pytest.mark.parametrize(("old", "new", "anchor", "said"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_is_at_its_own_line(
    tmp_path: Path, old: str, new: str, anchor: str, said: str
) -> None:
    text = edited(old, new, FAMILY)
    found = refused(tmp_path, text)
    where = place(text, anchor)
    assert [each for each in found if each.startswith(where) and said in each], found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("families: {x: {id: y, axes: {}}}", ":63:29: families.x.axes: this is empty."),
        ("families: {x: {id: y, axes: {a: {}}}}", ":63:33: families.x.axes.a: this is empty."),
        ("families: {x: {id: y}}", ":63:15: families.x has no 'axes'. Add it."),
        ("families: {x: []}", ":63:15: families.x: this must be a mapping"),
        ("families: x", ":63:11: families: this must be a mapping"),
        ("families: [x]", ":63:11: families: this must be a mapping"),
        ("families:", ":63:10: there is no value. Write one, or remove the key."),
    ],
)
def test_a_family_without_axes_is_one_problem(tmp_path: Path, text: str, said: str) -> None:
    assert HEAD.count("\n") == 62
    [problem] = refused(tmp_path, text + "\n")
    assert said in problem
    [again] = refused(tmp_path, f"{text}\n{TARGETS}")
    assert again == problem


def test_a_target_is_there_once(tmp_path: Path) -> None:
    more = FAMILY.replace("families:\n", "").replace("many:", "more:")
    first = place(FAMILY, "id:").split(":")[1]
    text = FAMILY + more
    problems = refused(tmp_path, text)
    assert [
        f"target {name!r} is declared already, in line {first}. Rename one of them."
        for name in ("own-new", "own-old", "base-new", "base-old")
    ] == [problem.split(": ", 1)[1] for problem in problems]
    second = (HEAD + text)[: (HEAD + text).rindex("    id:")].count("\n") + 1
    assert {problem.split(":")[1] for problem in problems} == {str(second)}


def test_a_target_is_there_once_under_targets_too(tmp_path: Path) -> None:
    text = FAMILY + TARGETS.replace("  bare:", "  own-new:")
    [problem] = refused(tmp_path, text)
    assert problem.startswith(place(text, "summary: nothing"))
    assert "target 'own-new' is declared already, in line " in problem


def test_a_problem_of_a_target_is_reported_at_its_place(tmp_path: Path) -> None:
    text = edited("torch_npu: 2.1.0.post6", "torch_npu: 2.3.1.post2\n          # here", FAMILY)
    problems = refused(tmp_path, text)
    assert all(problem.startswith(place(text, "2.3.1.post2\n")) for problem in problems)
    assert all("cannot be imported with torch 2.1.0" in problem for problem in problems)


def test_a_missing_key_is_reported_with_the_target_name(tmp_path: Path) -> None:
    text = edited("      platform: linux/arm64\n", "", FAMILY) + TWO_OF_THEM
    problems = refused(tmp_path, text)
    assert [problem.split(": ", 1)[1] for problem in problems] == [
        "targets.own-old has no 'platform'. Add it.",
        "targets.base-old has no 'platform'. Add it.",
    ]
    assert all(problem.startswith(place(text, "id:")) for problem in problems)


# What is added to FAMILY, where the problem is, what is said of it.
ADDED = {
    "an unknown axis in exclude": (
        "exclude: [{pyton: own}]",
        "own}]",
        "families.many.exclude[0].pyton: unknown axis. Did you mean 'python'?",
    ),
    "an unknown value in exclude": (
        "exclude: [{pair: nwe}]",
        "nwe",
        "pair has no 'nwe'. Did you mean 'new'?",
    ),
    "the same exclude again": (
        "exclude: [{pair: new}, {python: own, pair: new}, {pair: new}]",
        "{pair: new}]",
        "this combination is there twice. Remove one of them.",
    ),
    "an include without an axis": (
        "include: [{python: own}]",
        "{python: own}]",
        "families.many.include[0]: it names no value of pair. Add it.",
    ),
    "an exclude of everything": (
        "exclude: [{}]",
        "{}",
        "families.many.exclude[0]: it names no value of pair. Add it.",
    ),
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
