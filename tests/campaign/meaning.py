# SPDX-License-Identifier: Apache-2.0
"""What the files mean once they are read, and what their YAML says before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from cannery.common.errors import Span
from cannery.common.model import PAIRED, TORCH_COMPANIONS, Target
from cannery.common.models import validate
from cannery.compat import Compat
from cannery.compat.sources import Row
from cannery.matrix.definitions import Definitions
from cannery.matrix.families import expand
from cannery.matrix.files import load_with_data, read_data
from cannery.matrix.matrix import Matrix
from cannery.matrix.project import Project
from cannery.matrix.schema import MatrixShape
from cannery.publish.policy import Publishing, load

_NOWHERE = Span(file="", line=0, column=0)
_TRUE = {"true", "yes", "on"}
_DEFAULTS = {
    "edition": "release",
    "chip": "910b",
    "immutable": "{target}-{key}",
    "moving": "{target}",
    "platforms": "{target}-multi",
}


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """All files as data. ``targets`` have no place, so that moving a line is no change."""

    matrix: Matrix
    targets: dict[str, Target]
    definitions: Definitions
    compat: Compat
    publishing: Publishing


def read(project: Project, definitions: Definitions | None = None) -> Meaning:
    """The meaning of the files of ``project``, of which ``definitions`` may be known.

    What it raises is the answer to an edit.
    """
    matrix = project.matrix()
    path = project.matrix_file
    return Meaning(
        matrix=matrix,
        targets={name: replace(each, span=_NOWHERE) for name, each in matrix.targets.items()},
        definitions=definitions or _definitions(path),
        compat=project.compat(),
        publishing=load(project.publish_file, matrix),
    )


def _definitions(path: Path) -> Definitions:
    """What the matrix.yaml ``path`` and the files of data, which have loaded, define."""
    top = load_with_data(
        path.read_text(encoding="utf-8"), path.name, read_data(path.parent), []
    ).top
    expand(top, dict, [])
    return validate(MatrixShape, top, top)


def rows(compat: Compat) -> Counter[str]:
    """Every row without its line, as text, and how often it is there."""
    found: Counter[str] = Counter()
    for name, value in compat:
        for row in value if isinstance(value, tuple) else (value,):
            found[f"{name}: {plain(row)}"] += 1
    found |= Counter(f"source {name}: {each!r}" for name, each in compat.sources.items())
    return found


def plain(row: Row | str) -> str:
    """Everything that ``row`` says, but not where."""
    return row if isinstance(row, str) else repr(row)


def names_of(definitions: Definitions) -> dict[str, str]:
    """Every definition as text, by its kind and name."""
    found: dict[str, str] = {}
    for section in Definitions.model_fields:
        mapping = getattr(definitions, section)
        if not isinstance(mapping, Mapping):
            continue
        found |= {f"{section} {name}": repr(value) for name, value in mapping.items()}
    return found


def data(text: str) -> Any:
    """What the YAML in ``text`` says, all scalars as text."""
    return yaml.load(text, Loader=yaml.CBaseLoader)


def normal(value: Any) -> Any:
    """``value`` so that two of these are equal if they may mean the same.

    The order of a list may mean nothing, one value may mean the same as a list of it, and what is
    empty, false or the default the same as what is left out. The names of families are labels. A
    version has several spellings, as 2.7.1.post1 and 2.7.1.POST1, and so has a requirement.
    """
    if isinstance(value, dict):
        families = value.get("families")
        if isinstance(families, dict):
            value = {**value, "families": [*families.values()]}
        pairs = {key: normal(each) for key, each in value.items()}
        left_out = {key: normal(default) for key, default in _DEFAULTS.items()}
        return {k: v for k, v in pairs.items() if v not in ([], {}, "false", left_out.get(k, []))}
    if isinstance(value, list):
        found = sorted((normal(each) for each in value), key=repr)
        return found[0] if len(found) == 1 else found
    return _scalar(str(value))


def _scalar(text: str) -> str:
    if text.lower() in _TRUE | {"false"}:
        return "false" if text.lower() == "false" else "true"
    with suppress(InvalidVersion):
        return str(Version(text))
    with suppress(InvalidSpecifier):
        return str(SpecifierSet(text)) or text
    with suppress(InvalidRequirement):
        requirement = Requirement(text)
        requirement.name = canonicalize_name(requirement.name)
        return str(requirement) if requirement.specifier else text
    return text


def equal_but_paired(one: Any, other: Any, key: str = "") -> bool:
    """Whether documents are equal, where "paired" is any version of what follows torch."""
    if PAIRED in (one, other) and key in TORCH_COMPANIONS:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        same_keys = one.keys() == other.keys()
        return same_keys and all(equal_but_paired(one[k], other[k], k) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        same_length = len(one) == len(other)
        return same_length and all(map(equal_but_paired, one, other))
    return bool(one == other)
