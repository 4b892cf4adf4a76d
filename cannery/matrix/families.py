# SPDX-License-Identifier: Apache-2.0
"""Puts targets together from the parts in which they are written.

A family has ``axes``, each with named values; every combination of values is a target, less those
in ``exclude``, and more those in ``include``. The names of the values, filled into ``id``, name the
target. What a target has is put together from ``common`` of the file, ``common`` of its family, its
axis values and its ``overrides``, in this order; or from another target, which it names with
``from``, and its own keys. The same key from two of them is an error, unless the later one says
what is meant: ``{replace: ...}``, or for lists ``{append: [...]}`` and ``{prepend: [...]}``.

A target with ``platforms`` stands for one target for each of them. The first has its id; the
others have their architecture behind it, as in ``-amd64``.
"""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Self, TypeVar

import yaml
from pydantic import AfterValidator, Field, ValidationError, WithJsonSchema, model_validator

from cannery.common.documents import Items, Key, Map
from cannery.common.errors import MatrixError, Problem, did_you_mean
from cannery.common.models import Model, raise_mistakes

MAX_TARGETS = 10_000
"""How many targets one file may have."""

MERGES = ("replace", "append", "prepend")

PLATFORMS = ("linux/arm64", "linux/amd64")
"""Every platform that a target can be for."""

_Mistake = tuple[tuple[Key, ...], str, str]
_Declared = tuple[str, Any, tuple[yaml.Mark, yaml.Mark]]
"""Id, mapping and marks of a target."""
_Parts = list[tuple[Map, str]]
"""Parts of targets, each with the thing that it is part of."""

_FROM = "from"
"""The key with the target from which another one has its keys."""

K = TypeVar("K")
V = TypeVar("V")


def _part(value: Any) -> Any:
    if not isinstance(value, Map):
        raise ValueError("this must be a mapping of keys to values.")  # noqa: TRY004
    return value


Part = Annotated[Any, AfterValidator(_part), WithJsonSchema({"type": "object"})]
"""Some keys of a target."""

_Filled = Annotated[dict[K, V], Field(min_length=1)]
Combination = dict[str, str]
"""Axis to the name of one of its values."""


class Family(Model):
    """Targets that are written once. ``axes`` maps an axis to its named values."""

    id: str
    axes: _Filled[str, _Filled[str, Part]]
    common: Part = None
    exclude: tuple[Combination, ...] = ()
    include: tuple[Combination, ...] = ()
    overrides: dict[str, Part] = Field(default={})

    @model_validator(mode="after")
    def _of_its_axes(self) -> Self:
        raise_mistakes([*self._mistakes()])
        return self

    def _mistakes(self) -> Iterator[_Mistake]:
        if (unknown := self._unknown_field()) is not None:
            yield ("id",), f"{unknown!r} is not an axis.", did_you_mean(unknown, self.axes)
        for key, combinations in (("exclude", self.exclude), ("include", self.include)):
            for number, combination in enumerate(combinations):
                for axis, name in combination.items():
                    if axis not in self.axes:
                        yield (key, number, axis), "unknown axis.", did_you_mean(axis, self.axes)
                    elif name not in self.axes[axis]:
                        hint = did_you_mean(name, self.axes[axis])
                        yield (key, number, axis), f"{axis} has no {name!r}.", hint
                missing = self.axes.keys() - combination.keys()
                if missing and (key == "include" or not combination):
                    yield (key, number), f"it names no value of {min(missing)}.", "Add it."
                if combination in combinations[:number]:
                    yield (key, number), "this combination is there twice.", "Remove one of them."

    def _unknown_field(self) -> str | None:
        """The first thing in braces in the id that is not the name of an axis and nothing else."""
        try:
            for _, name, form, conversion in string.Formatter().parse(self.id):
                if name is not None and (name not in self.axes or form or conversion):
                    ends = ("!", conversion), (":", form)
                    return name + "".join(mark + end for mark, end in ends if end)
        except ValueError:
            return self.id
        return None

    def combinations(self) -> list[Combination]:
        """Every one that none of ``exclude`` covers, then those of ``include``."""
        products = itertools.product(*self.axes.values())
        every = (dict(zip(self.axes, names, strict=True)) for names in products)
        kept = [each for each in every if not any(e.items() <= each.items() for e in self.exclude)]
        added = [{axis: each[axis] for axis in self.axes} for each in self.include]
        return [*{tuple(each.values()): each for each in (*kept, *added)}.values()]


@dataclass(kw_only=True)
class Expansion:
    """The targets of a file, and what is in none of them.

    ``unused`` are the values of axes that no target has, each as in "training.python.py38".
    ``platforms`` maps the id of a target with several platforms to the ids for each of them.
    ``inherited`` says of a target, by id, from which other one it is, and what it changes.
    """

    declared: list[_Declared] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    platforms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    inherited: dict[str, str] = field(default_factory=dict)

    def by_platform(self, name: str, target: Any) -> dict[str, Any]:
        """Id to mapping of the targets that ``target`` stands for.

        One whose ``platforms`` are wrong stays one target; the model of targets says why.
        """
        platforms = target.get("platforms") if isinstance(target, Map) else None
        if platforms is None:
            return {name: target}
        known = [p for p in platforms if p in PLATFORMS] if isinstance(platforms, Items) else []
        if not known or [*dict.fromkeys(known)] != platforms or "platform" in target:
            kept = _with_platform(target, PLATFORMS[0])
            kept.put("platforms", platforms, target.marks["platforms"])
            return {name: kept}
        ids = (name, *(f"{name}-{each.rpartition('/')[2]}" for each in platforms[1:]))
        if len(ids) > 1:
            self.platforms[name] = ids
        return {each: _with_platform(target, p) for each, p in zip(ids, platforms, strict=True)}


def _with_platform(target: Map, platform: str) -> Map:
    """``target`` with ``platform`` in place of its ``platforms``."""
    other = Map(target.mark)
    for key, value in target.items():
        if key == "platforms":
            other.put("platform", target.get("platform", platform), target.marks[key])
        elif key != "platform":
            other.put(key, value, target.marks[key])
    return other


Catalogue = Callable[[], Mapping[str, Map]]
"""Returns further targets that one can name with ``from``."""


def expand(top: Map, catalogue: Catalogue, problems: list[Problem]) -> Expansion:
    """Put the targets of the families of ``top`` before its other ones; mistakes become problems.

    A family that is no Family is left out.
    """
    families, others = top.get("families"), top.get("targets", Map(top.mark))
    common = [(part, "common")] if isinstance(part := top.get("common"), Map) else []
    expansion = Expansion()
    for name, data in families.items() if isinstance(families, Map) else ():
        with suppress(ValidationError):
            _expand(name, data, common, expansion, problems)
    if not isinstance(others, Map):
        return expansion
    declared = expansion.declared
    declared += ((name, value, others.marks[name]) for name, value in others.items())
    written = Map(others.mark)
    if len(declared) > MAX_TARGETS:
        what = f"there are {len(declared):,} targets, and a file may have {MAX_TARGETS:,}."
        fix = "Divide the file or remove targets."
        raise MatrixError([*problems, Problem(what=what, fix=fix, where=others.place())])
    for name, value, marks in declared:
        if name in written:
            what = f"target {name!r} is declared already, in line {written.place(name).line}."
            where = Map(marks[1]).place()
            problems.append(Problem(what=what, fix="Rename one of them.", where=where))
        else:
            written.put(name, value, marks)
    targets = Map(others.mark)
    combined = _Combined(written, others.keys(), common, catalogue, problems)
    for name, value in written.items():
        alone = name in others and isinstance(value, Map)
        merged = combined.target(name) if alone else value
        if merged is None:
            continue
        parts = expansion.by_platform(name, merged) if alone else {name: merged}
        for each, target in parts.items():
            if each != name and each in written:
                what = f"target {each!r} is declared already, as {name} for its platform."
                where = written.place_of_key(each)
                problems.append(Problem(what=what, fix="Rename one of them.", where=where))
            targets.put(each, target, written.marks[name])
            if name in combined.inherited:
                expansion.inherited[each] = combined.inherited[name]
    if declared or "families" in top:
        top.put("targets", targets, (others.mark, others.mark))
    return expansion


@dataclass
class _Combined:
    """The targets that are ``written`` alone, with all that they have from elsewhere."""

    written: Map
    alone: Collection[str]
    common: _Parts
    catalogue: Catalogue
    problems: list[Problem]
    done: dict[str, Map | None] = field(default_factory=dict)
    inherited: dict[str, str] = field(default_factory=dict)

    def target(self, name: str, users: tuple[str, ...] = ()) -> Map | None:
        """All keys of the target ``name``; None if it is from one that there is not."""
        if name not in self.done:
            self.done[name] = self._target(name, self.written[name], (*users, name))
        return self.done[name]

    def _target(self, name: str, local: Any, users: tuple[str, ...]) -> Map | None:
        if name not in self.alone or not isinstance(local, Map):
            return local if isinstance(local, Map) else None
        rest = [(_without(local, _FROM), f"target {name}")]
        if (source := local.get(_FROM)) is None:
            return _merged([*self.common, *rest], local.mark, self.problems)
        if source in users:
            what = f"{name} is from {source}, and {source} is from it."
            self._wrong(local, what, "Write the keys of one of them.")
            return None
        if source in self.written:
            inherited = self.target(source, users)
        elif inherited := self.catalogue().get(source):
            rest = [*self.common, *rest]
        else:
            hint = did_you_mean(str(source), [*self.written, *self.catalogue()])
            self._wrong(local, f"there is no target {source!r}.", hint)
            return None
        if not inherited:
            return None
        self.inherited[name] = _inheritance(name, source, local, inherited)
        # A summary says what the other target has.
        parts = [(_without(inherited, "summary"), f"target {source}"), *rest]
        return _merged(parts, local.mark, self.problems)

    def _wrong(self, local: Map, what: str, fix: str) -> None:
        self.problems.append(Problem(what=what, fix=fix, where=local.place(_FROM)))


def _inheritance(name: str, source: str, local: Map, inherited: Map) -> str:
    keys = [key for key in local if key not in (_FROM, "summary")]
    changes = ", ".join(key for key in keys if key in inherited)
    additions = ", ".join(key for key in keys if key not in inherited)
    text = f"targets.{name} of {local.place()} is from {source} of {inherited.place()}"
    text += f", changes its {changes}" if changes else ""
    return text + (f", adds {additions}" if additions else "")


def _without(part: Map, left_out: str) -> Map:
    kept = Map(part.mark)
    for key, value in part.items():
        if key != left_out:
            kept.put(key, value, part.marks[key])
    return kept


def _expand(
    name: str, data: Map, common: _Parts, expansion: Expansion, problems: list[Problem]
) -> None:
    """Add the targets of the family ``data`` to ``expansion``."""
    family = Family.model_validate(data)

    def wrong(what: str, fix: str, *path: Key) -> None:
        problems.append(Problem(what=what, fix=fix, where=data.place(*path)))

    count = math.prod(len(values) for values in family.axes.values()) + len(family.include)
    if count > MAX_TARGETS - len(expansion.declared):
        what = f"{name} has {count:,} combinations, and a file may have {MAX_TARGETS:,} targets."
        wrong(what, "Use fewer axes or values.", "axes")
        return
    targets: dict[str, Map] = {}
    unused = {f"{name}.{axis}.{each}": None for axis in family.axes for each in family.axes[axis]}
    for combination in family.combinations():
        # Not id.format(), which takes a name apart at its dots and has its own use for numbers.
        fields = string.Formatter().parse(family.id)
        target = "".join(
            text + ("" if axis is None else combination[axis]) for text, axis, *_ in fields
        )
        parts = [*common, *([(family.common, f"common of {name}")] if family.common else [])]
        for axis, each in combination.items():
            parts.append((family.axes[axis][each], f"{axis} {each}"))
            unused.pop(f"{name}.{axis}.{each}", None)
        if target in family.overrides:
            parts.append((family.overrides[target], f"overrides of {target}"))
        merged = _merged(parts, data.mark, problems)
        for each, part in expansion.by_platform(target, merged).items():
            if each in targets:
                wrong(f"two combinations have the id {each!r}.", "Use every axis in the id.", "id")
            targets[each] = part
            if each != target and each in family.overrides:
                override = family.overrides[each], f"overrides of {each}"
                parts = [(part, f"{target} for {part['platform']}"), override]
                targets[each] = _merged(parts, data.mark, problems)
    if not targets:
        wrong(f"all targets of {name} are excluded.", "Exclude fewer.", "exclude")
    for target in family.overrides.keys() - targets.keys():
        hint = did_you_mean(target, targets)
        wrong(f"{name} has no target {target!r}.", hint, "overrides", target)
    marks = data.mark, data.mark
    expansion.declared += ((target, merged, marks) for target, merged in targets.items())
    expansion.unused += unused


def _merged(parts: _Parts, mark: yaml.Mark, problems: list[Problem]) -> Map:
    """The mapping of a target, from all that it has, each with whose it is."""
    merged, owners = Map(mark), dict[str, str]()
    for part, owner in parts:
        for key, value in part.items():
            how, new, marks = "", value, part.marks[key]
            if isinstance(value, Map) and len(value) == 1 and {*value} <= {*MERGES}:
                [(how, new)] = value.items()
                marks = marks[0], value.marks[how][1]
            old = merged.get(key)
            if key not in merged or how == "replace":
                merged.put(key, new, marks)
                owners[key] = owner
            elif how and isinstance(old, Items) and isinstance(new, Items):
                joined = Items(new.mark)
                for items in (old, new) if how == "append" else (new, old):
                    joined += items
                    joined.marks += items.marks
                merged.put(key, joined, marks)
                owners[key] = owner
            elif how:
                what = f"{how} needs a list, and {key!r} of {owners[key]} is not one."
                problems.append(Problem(what=what, where=part.place(key)))
            else:
                what = f"{key!r} is in {owner}, and already in {owners[key]}."
                fix = f"To use this one, write {key}: {{replace: ...}}."
                problems.append(Problem(what=what, fix=fix, where=part.place_of_key(key)))
    return merged
