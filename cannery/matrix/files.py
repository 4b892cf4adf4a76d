# SPDX-License-Identifier: Apache-2.0
"""The files that say what the targets are, and how those of data become part of matrix.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from cannery import __version__
from cannery.common.documents import Items, Map, load_yaml, read_text
from cannery.common.errors import FileError, MatrixError, Problem, did_you_mean
from cannery.common.models import of_newer, upgrade
from cannery.common.tool import is_checkout, tool_path
from cannery.compat import Compat, parse_compat
from cannery.compat.sources import OWN_ROWS
from cannery.matrix.families import expand

MATRIX = "matrix.yaml"
SCHEMA = 2
"""Of MATRIX."""

FACTS = "cannery/data/compat.yaml"
"""Of a checkout of cannery: by what targets are judged."""

SETTINGS = "cannery.toml"

DATA: Mapping[str, tuple[str, ...]] = {
    f"cannery/data/{name}.yaml": keys
    for name, keys in {
        "bases": ("bases",),
        "pythons": ("pythons",),
        "cann": ("downloads", "cann_layouts", "cann"),
        "wheels": (
            *("apex", "torch_wheels", "torch_npu_wheels", "torch_indexes"),
            *("triton_ascend_wheels", "deepspeed_wheels", "deepspeed_plugins"),
        ),
        "applications": ("applications",),
        "leave-out": ("leave_out",),
        "recommended": ("recommended",),
    }.items()
}
"""The files of a checkout of cannery that say what targets can have, and the keys of each."""

CATALOGUE = "cannery/data/targets.yaml"
"""The matrix.yaml with the targets that come with the program."""

Data = Mapping[str, str]
"""The texts of such files, of CATALOGUE and of FACTS, by name."""

CHANGES = ("replace", "extend")
"""How a definition can say that it means the one of the same name in a file of DATA."""


class ToolText(str):
    """The text of a file of the tool, for a project that cannot change it."""

    __slots__ = ()


def is_source(path: str) -> bool:
    """Whether what the targets are is read from the file ``path`` of a checkout."""
    return path in (MATRIX, FACTS, OWN_ROWS) or path in DATA


def read_data(root: Path) -> dict[str, str]:
    """The files of DATA by which the project in ``root`` is read, and CATALOGUE."""
    paths = {name: tool_path(name, root) for name in (*DATA, CATALOGUE)}
    kind = str if is_checkout(root) else ToolText
    return {
        name: kind(read_text(path, name)) for name, path in paths.items() if os.path.lexists(path)
    }


@dataclass(frozen=True, kw_only=True)
class Sources:
    """A matrix.yaml with the definitions of the files of DATA.

    ``changed`` says which of these it replaces or extends, by key and name, with both places.
    """

    top: Map
    changed: Mapping[tuple[str, str], str]


def load_with_data(text: str, name: str, data: Data, problems: list[Problem]) -> Sources:
    """The matrix.yaml ``text`` with the definitions of ``data``."""
    top = load_yaml(text, name, problems)
    _refuse_newer(top)
    changed: dict[tuple[str, str], str] = {}
    for path, keys in DATA.items():
        if path not in data:
            continue
        definitions = load_yaml(data[path], path, problems)
        for key, value in definitions.items():
            marks = definitions.marks[key]
            if key not in keys:
                what, hint = f"unknown key {key!r} in {path}.", did_you_mean(key, keys)
                problems.append(Problem(what=what, fix=hint, where=definitions.place_of_key(key)))
            elif key not in top:
                top.put(key, value, marks)
            elif isinstance(value, Map) and isinstance(local := top[key], Map):
                both = _with_local(key, value, local, changed, problems)
                top.put(key, both, top.marks[key])
    return Sources(top=top, changed=changed)


def _with_local(
    key: str,
    ours: Map,
    local: Map,
    changed: dict[tuple[str, str], str],
    problems: list[Problem],
) -> Map:
    """The definitions ``ours`` and ``local`` of ``key``."""
    both = Map(local.mark)
    for name in ours:
        if name not in local:
            both.put(name, ours[name], ours.marks[name])
    for name, value in local.items():
        how, new = next(iter(value.items())) if _is_change(value) else ("", value)
        place = local.place_of_key(name)
        if name in ours:
            there = ours.place_of_key(name)
            if not how:
                what = f"{name!r} hides the one of {there}."
                fix = "Write {replace: ...} around it to take it instead, {extend: ...} to add to "
                problems.append(Problem(what=what, fix=f"{fix}it, or another name.", where=place))
            verb = "extends" if how == "extend" else "replaces"
            changed[key, name] = f"{key}.{name} of {place} {verb} that of {there}"
            new = _extended(ours[name], new) if how == "extend" else new
        elif how:
            what, hint = f"{key} has no {name!r} to {how}.", did_you_mean(name, ours)
            problems.append(Problem(what=what, fix=hint, where=place))
            continue
        both.put(name, new, local.marks[name])
    return both


def _is_change(value: Any) -> bool:
    return isinstance(value, Map) and len(value) == 1 and {*value} <= {*CHANGES}


def _extended(old: Any, new: Any) -> Any:
    """``old`` with what ``new`` has: keys of mappings, items of lists; else ``new``."""
    if isinstance(old, Map) and isinstance(new, Map):
        both = Map(new.mark)
        for part in (old, new):
            for key, value in part.items():
                both.put(
                    key, _extended(both[key], value) if key in both else value, part.marks[key]
                )
        return both
    if isinstance(old, Items) and isinstance(new, Items):
        items = Items(new.mark)
        items += [*old, *new]
        items.marks = [*old.marks, *new.marks]
        return items
    return new


def catalogue(data: Data) -> Mapping[str, Map]:
    """The targets that come with the program, all of their keys, by their ids."""
    if CATALOGUE not in data:
        return {}
    top = load_yaml(data[CATALOGUE], CATALOGUE, [])
    expand(top, dict, [])
    targets = top["targets"]
    assert isinstance(targets, Map), "tests read it"
    return targets


def _refuse_newer(top: Map) -> None:
    """Raise MatrixError for a file of a newer cannery; its other keys may have a new meaning."""
    needed = str(top.get("requires", ""))
    if (wanted := required_versions(needed)) and not wanted.contains(__version__, True):
        what = f"this project requires {needed}, and this is cannery {__version__}."
        raise MatrixError(Problem(what=what, fix=upgrade(needed), where=top.place("requires")))
    if what := of_newer(str(top.get("schema", "")), SCHEMA):
        raise MatrixError(Problem(what=what, fix=upgrade(), where=top.place("schema")))


def required_versions(text: str) -> SpecifierSet | None:
    """The versions of cannery that ``text`` allows, as in "cannery>=0.2"; None if it is none."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    is_plain = not (requirement.url or requirement.extras or requirement.marker)
    return requirement.specifier if requirement.name == "cannery" and is_plain else None


def read_facts(matrix: Path) -> dict[str, str]:
    """FACTS for the folder of ``matrix``, even where ``matrix`` is a link, and OWN_ROWS, if any."""
    path, own = tool_path(FACTS, matrix.parent), matrix.parent / OWN_ROWS
    if not path.exists():
        what = f"cannot read {path}: no such file or directory."
        fix = "Targets are judged by it: restore it, or install cannery again."
        raise FileError(Problem(what=what, fix=fix))
    facts = {FACTS: read_text(path, FACTS)}
    return facts | ({OWN_ROWS: read_text(own, OWN_ROWS)} if os.path.lexists(own) else {})


def facts_of(data: Data) -> Compat:
    """The rows of FACTS and of OWN_ROWS; see ``parse_compat`` for what it raises."""
    return parse_compat(data[FACTS], FACTS, data.get(OWN_ROWS, ""))
