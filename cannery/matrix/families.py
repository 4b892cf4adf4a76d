# SPDX-License-Identifier: Apache-2.0
"""Expands families: targets that differ along a few axes and are written once.

A family has ``axes``, each with named values; every combination of values is a target, less those
in ``exclude``, and more those in ``include``. The names of the values, filled into ``id``, name the
target. What a target has is put together from ``common``, its axis values and its ``overrides``, in
this order. The same key from two of them is an error, unless the later one says what is meant:
``{replace: ...}``, or for lists ``{append: [...]}`` and ``{prepend: [...]}``.
"""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import yaml

from cannery.common.errors import did_you_mean
from cannery.common.yaml_reader import Problems, Section

MAX_TARGETS = 10_000
"""How many targets one file may have."""

MERGES = ("replace", "append", "prepend")

_Axes = dict[str, dict[str, Section]]
"""Axis to the name of each of its values and what is below it."""


@dataclass(frozen=True, kw_only=True)
class Expanded:
    """What families define. ``targets`` has the id and the mapping of each target.

    ``unused`` are the values of axes that no target has, each as in "training.python.py38".
    """

    targets: list[tuple[str, Section]] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def expand_families(families: Section) -> Expanded:
    """The targets, family by family; mistakes become problems."""
    expanded = Expanded()
    for name, family in families.sections():
        _expand(name, family, expanded)
    return expanded


def _expand(name: str, family: Section, expanded: Expanded) -> None:
    """Add the targets of ``family`` to ``expanded``."""
    room = MAX_TARGETS - len(expanded.targets)
    before = family.problems.count
    axes = _axes(family)
    rule = family.text("id")
    if axes and (unknown := _unknown_field(rule, axes)) is not None:
        family.wrong("id", f"{unknown!r} is not an axis of {name}.", did_you_mean(unknown, axes))
    common = family.section("common", required=False)
    excluded = _combinations(family, "exclude", axes)
    included = _combinations(family, "include", axes)
    section = family.section("overrides", required=False)
    overrides = dict(section.sections()) if section else {}
    family.done()
    count = math.prod(len(values) for values in axes.values()) + len(included)
    if count > room:
        what = f"{name} has {count:,} combinations, and a file may have {MAX_TARGETS:,} targets."
        family.wrong("axes", what, "Use fewer axes or values.")
    if family.problems.count > before or not axes:
        # Which targets are meant, and what they have in common, is not known.
        return
    targets: dict[str, Section] = {}
    unused = {f"{name}.{axis}.{value}": None for axis, values in axes.items() for value in values}
    for combination in _kept(axes, excluded, included):
        # Not rule.format(), which takes a name apart at its dots and has its own use for numbers.
        fields = string.Formatter().parse(rule)
        target = "".join(
            text + ("" if axis is None else combination[axis]) for text, axis, *_ in fields
        )
        parts = [(common, f"common of {name}")] if common else []
        for axis, value in combination.items():
            parts.append((axes[axis][value], f"{axis} {value}"))
            unused.pop(f"{name}.{axis}.{value}", None)
        if override := overrides.pop(target, None):
            parts.append((override, f"overrides of {target}"))
        if target in targets:
            what = f"two combinations have the id {target!r}."
            family.wrong("id", what, "Use every axis in the id.")
        merged = _merged(parts, family.node, family.problems)
        targets[target] = Section(merged, f"{name}.{target}", family.problems)
    if not targets:
        family.wrong("exclude", f"all targets of {name} are excluded.", "Exclude fewer.")
    for target, override in overrides.items():
        hint = did_you_mean(target, targets)
        family.problems.add(override.node, f"{name} has no target {target!r}.", hint)
    expanded.targets.extend(targets.items())
    expanded.unused.extend(unused)


def _merged(
    parts: Iterable[tuple[Section, str]], at: yaml.Node, problems: Problems
) -> yaml.MappingNode:
    """The mapping of a target, from all that it has, each with whose it is."""
    values: dict[str, tuple[yaml.Node, yaml.Node, str]] = {}
    for part, owner in parts:
        for key, value in part.nodes():
            name, how, new = str(key.value), "", value
            if isinstance(value, yaml.MappingNode) and len(value.value) == 1:
                [(first, inner)] = value.value
                if first.value in MERGES:
                    how, new = first.value, inner
            _, old, whose = values.get(name, (key, None, ""))
            if old is None or how == "replace":
                values[name] = (key, new, owner)
            elif how and isinstance(old, yaml.SequenceNode) and isinstance(new, yaml.SequenceNode):
                items = old.value + new.value if how == "append" else new.value + old.value
                joined = yaml.SequenceNode(new.tag, items, new.start_mark, new.end_mark)
                values[name] = (key, joined, owner)
            elif how:
                problems.add(value, f"{how} needs a list, and {name!r} of {whose} is not one.")
            else:
                what = f"{name!r} is in {owner}, and already in {whose}."
                problems.add(key, what, f"To use this one, write {name}: {{replace: ...}}.")
    pairs = [(key, value) for key, value, _ in values.values()]
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, at.start_mark, at.end_mark)


def _axes(family: Section) -> _Axes:
    section = family.section("axes")
    if section is None:
        return {}
    axes = {axis: dict(values.sections()) for axis, values in section.sections()}
    for axis, values in axes.items():
        if not values:
            section.wrong(axis, f"axis {axis} has no values.")
    if not axes:
        family.wrong("axes", "a family needs at least one axis.")
    return axes


def _unknown_field(rule: str, axes: _Axes) -> str | None:
    """The first thing in braces in ``rule`` that is not the name of an axis and nothing else."""
    try:
        for _, name, form, conversion in string.Formatter().parse(rule):
            if name is not None and (name not in axes or form or conversion):
                return (
                    name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
                )
    except ValueError:
        return rule
    return None


def _kept(
    axes: _Axes, excluded: list[dict[str, str]], included: list[dict[str, str]]
) -> Iterable[Mapping[str, str]]:
    """Every combination of values that none in ``excluded`` covers, then those in ``included``."""
    products = (dict(zip(axes, names, strict=True)) for names in itertools.product(*axes.values()))
    kept = [each for each in products if not any(e.items() <= each.items() for e in excluded)]
    return {tuple(each.values()): each for each in (*kept, *included)}.values()


def _combinations(family: Section, key: str, axes: _Axes) -> list[dict[str, str]]:
    """The combinations under ``key``: a list of mappings of an axis to the name of a value."""
    combinations: list[dict[str, str]] = []
    for item in family.mappings(key):
        before = family.problems.count
        names = {axis: item.text(axis, required=key == "include") for axis in axes}
        combination = {axis: name for axis, name in names.items() if name}
        for axis, name in combination.items():
            if name not in axes[axis]:
                item.wrong(axis, f"{axis} has no {name!r}.", did_you_mean(name, axes[axis]))
        item.done()
        if combination in combinations:
            what = f"this combination is an item of {key!r} already."
            family.problems.add(item.node, what, "Remove one of them.")
        if not item.nodes() and isinstance(item.node, yaml.MappingNode):
            family.problems.add(item.node, f"an item of {key!r} must name a value of an axis.")
        elif family.problems.count == before:
            combinations.append(combination)
    return combinations
