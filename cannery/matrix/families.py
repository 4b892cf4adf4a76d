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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from cannery.common.errors import did_you_mean
from cannery.common.yaml_reader import Problems, Section

MAX_TARGETS = 10_000
"""How many targets one file may have."""

MERGES = ("replace", "append", "prepend")

_Axes = dict[str, dict[str, Section]]
"""Axis to the name of each of its values and what is below it."""


@dataclass(kw_only=True)
class _Parts:
    """What a target has so far: key to its key node, its value, and whose it is."""

    problems: Problems
    values: dict[str, tuple[yaml.Node, yaml.Node, str]] = field(default_factory=dict)

    def add(self, fragment: Section, owner: str) -> None:
        for key, value in fragment.nodes():
            self._add_one(key, value, owner)

    def _add_one(self, key: yaml.Node, value: yaml.Node, owner: str) -> None:
        name = str(key.value)
        how, new = _merge_of(value)
        old = self.values.get(name)
        if not old or how == "replace":
            self.values[name] = (key, new, owner)
        elif how and isinstance(old[1], yaml.SequenceNode) and isinstance(new, yaml.SequenceNode):
            items = old[1].value + new.value if how == "append" else new.value + old[1].value
            joined = yaml.SequenceNode(new.tag, items, new.start_mark, new.end_mark)
            self.values[name] = (key, joined, owner)
        elif how:
            self.problems.add(value, f"{how} needs a list, and {name!r} of {old[2]} is not one.")
        else:
            self.problems.add(
                key,
                f"{name!r} is in {owner}, and already in {old[2]}.",
                f"To use this one, write {name}: {{replace: ...}}.",
            )

    def node(self, at: yaml.Node) -> yaml.MappingNode:
        pairs = [(key, value) for key, value, _ in self.values.values()]
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, at.start_mark, at.end_mark)


def _merge_of(value: yaml.Node) -> tuple[str, yaml.Node]:
    """How ``value`` says that it is merged, and the value proper."""
    if isinstance(value, yaml.MappingNode) and len(value.value) == 1:
        key, inner = value.value[0]
        if key.value in MERGES:
            return str(key.value), inner
    return "", value


@dataclass(frozen=True, kw_only=True)
class Expanded:
    """What families define. ``targets`` has the id and the mapping of each target.

    ``unused`` are the values of axes that no target has, each as in "training.python.py38".
    """

    targets: list[tuple[str, Section]] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def expand_families(families: Section) -> Expanded:
    """The targets, family by family; mistakes become problems."""
    found = Expanded()
    for name, family in families.sections():
        _expand(name, family, found)
    return found


def _expand(name: str, family: Section, expanded: Expanded) -> None:
    """Add what one family defines to ``expanded``."""
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
    found: dict[str, Section] = {}
    kept = _kept(axes, excluded, included)
    for combination in kept:
        target = filled(rule, combination)
        parts = _Parts(problems=family.problems)
        if common:
            parts.add(common, f"common of {name}")
        for axis, value in combination.items():
            parts.add(axes[axis][value], f"{axis} {value}")
        if override := overrides.pop(target, None):
            parts.add(override, f"overrides of {target}")
        if target in found:
            family.wrong(
                "id", f"two combinations have the id {target!r}.", "Use every axis in the id."
            )
        found[target] = Section(parts.node(family.node), f"{name}.{target}", family.problems)
    if not found:
        family.wrong("exclude", f"all targets of {name} are excluded.", "Exclude fewer.")
    for target, override in overrides.items():
        family.problems.add(
            override.node, f"{name} has no target {target!r}.", did_you_mean(target, found)
        )
    expanded.targets.extend(found.items())
    expanded.unused.extend(f"{name}.{each}" for each in _unused(axes, kept))


def _unused(axes: _Axes, kept: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Each AXIS.VALUE that none of ``kept`` has; none if that is empty."""
    for axis, values in axes.items() if kept else ():
        used = {combination[axis] for combination in kept}
        yield from (f"{axis}.{value}" for value in values if value not in used)


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


def filled(rule: str, combination: Mapping[str, str]) -> str:
    """The id of the target of ``combination``, which maps each axis to the name of a value."""
    # Not rule.format(), which takes a name apart at its dots and has its own use for numbers.
    parts = string.Formatter().parse(rule)
    return "".join(text + ("" if axis is None else combination[axis]) for text, axis, *_ in parts)


def _kept(
    axes: _Axes, excluded: list[dict[str, str]], included: list[dict[str, str]]
) -> list[dict[str, str]]:
    """Every combination of values that none in ``excluded`` covers, then those in ``included``."""
    products = itertools.product(*axes.values())
    everything = [dict(zip(axes, names, strict=True)) for names in products]
    kept = [each for each in everything if not any(_covers(e, each) for e in excluded)]
    by_names = {tuple(each.values()): each for each in (*kept, *included)}
    return [*by_names.values()]


def _combinations(family: Section, key: str, axes: _Axes) -> list[dict[str, str]]:
    """The combinations under ``key``: a list of mappings of an axis to the name of a value."""
    found = []
    for item in family.mappings(key):
        combination = {}
        for axis, values in axes.items():
            if name := item.text(axis, required=key == "include"):
                if name not in values:
                    item.wrong(axis, f"{axis} has no {name!r}.", did_you_mean(name, values))
                combination[axis] = name
        item.done()
        if not item.nodes():
            if isinstance(item.node, yaml.MappingNode):
                family.problems.add(item.node, f"an item of {key!r} must name a value of an axis.")
        elif all(name in axes[axis] for axis, name in combination.items()) and (
            key == "exclude" or len(combination) == len(axes)
        ):
            if combination in found:
                what = f"this combination is an item of {key!r} already."
                family.problems.add(item.node, what, "Remove one of them.")
            found.append(combination)
    return found


def _covers(pattern: dict[str, str], combination: dict[str, str]) -> bool:
    return all(combination[axis] == name for axis, name in pattern.items())
