# SPDX-License-Identifier: Apache-2.0
"""All that a matrix.yaml says, and which of its targets are selected or recommended."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import Problem, UsageError, did_you_mean, some_of
from cannery.common.model import CannRelease, Target
from cannery.common.yaml_reader import Section
from cannery.compat import Finding


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Every target of a matrix.yaml, recommended ones first, and every CANN release.

    ``unused`` are the definitions that no target uses, each as in "pythons: cpython-3.9.2".
    ``findings`` has what compat.yaml says of each target, by its id; it is empty for a matrix that
    was read without it.
    """

    targets: Mapping[str, Target]
    cann: Mapping[str, CannRelease] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)


_SHOWN = 20

Qualities = Mapping[str, str]
"""What conditions compare: components and the like, each with its version or name."""


def select_ids(
    known: Mapping[str, Qualities], patterns: Sequence[str], conditions: Sequence[str]
) -> list[str]:
    """The ids that match any of ``patterns`` (ids or globs; none for all) and all ``conditions``.

    ``known`` maps every id to its qualities, in the order of the matrix, which the result has, too.

    A condition is as in ``python=3.9``: a component and a version of it, or the front part of one,
    or ``chip=910b``, ``platform=linux/arm64``, ``architecture=arm64``, ``flavour=runtime`` or
    ``application=vllm``; ``cann`` is the toolkit.

    Raises:
        UsageError: naming every pattern that fits no target and every condition that makes no
            sense, or because nothing is left.
    """
    problems = [
        Problem(what=f"there is no target {pattern!r}.", fix=_nearest(pattern, known))
        for pattern in patterns
        if not fnmatch.filter(known, pattern)
    ]
    keys = {key for qualities in known.values() for key in qualities}
    for condition in conditions:
        key, equals, _ = condition.partition("=")
        if not equals:
            what = f"invalid condition {condition!r}."
            problems.append(Problem(what=what, fix="Write it as in python=3.9."))
        elif key not in keys:
            problems.append(Problem(what=f"targets have no {key!r}.", fix=did_you_mean(key, keys)))
    if problems:
        raise UsageError(problems)
    found = [
        name
        for name, qualities in known.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns or ["*"])
        and all(_holds(qualities, condition) for condition in conditions)
    ]
    if not found:
        asked = " ".join([*patterns, *conditions])
        what = f"no target is selected by {asked}."
        raise UsageError(Problem(what=what, fix=_hint(conditions, [*known.values()])))
    return found


def _hint(conditions: Sequence[str], targets: Sequence[Qualities]) -> str:
    """What could be meant where ``conditions`` hold for none of ``targets`` together."""
    values = [_values(condition, targets) for condition in conditions]
    if not any(values):
        for condition in reversed(conditions):
            others = [each for each in conditions if each != condition]
            left = [each for each in targets if all(_holds(each, other) for other in others)]
            if others and left:
                key, _, _ = condition.partition("=")
                names = _in_order({each.get(key, "") for each in left} - {""})
                values = [f"With {' '.join(others)}, {key} is {some_of(names, _SHOWN) or 'none'}."]
                break
    return " ".join([*filter(None, values), "'build.py list' shows all."])


def _values(condition: str, targets: Iterable[Qualities]) -> str:
    """The values of the key of ``condition``, if it holds for none of ``targets``."""
    if any(_holds(qualities, condition) for qualities in targets):
        return ""
    key, _, wanted = condition.partition("=")
    values = _in_order({qualities.get(key, "") for qualities in targets} - {""})
    if not re.match(r"[0-9]+\.", wanted):
        return did_you_mean(wanted, values)
    # Of versions, the nearest is the one of the same series, not the one that looks alike.
    series = ".".join(wanted.split(".")[:2])
    if alike := [each for each in values if _holds({key: each}, f"{key}={series}")]:
        return f"Of {series} there is {some_of(alike, _SHOWN)}."
    return f"Known: {some_of(values, _SHOWN)}." if values else ""


def _in_order(versions: Iterable[str]) -> list[str]:
    return sorted(versions, key=_version_order)


def _version_order(version: str) -> list[tuple[bool, int, str]]:
    """By numbers, and by words before numbers, as in 8.0.RC2 and 8.0.1."""
    parts = re.findall(r"[0-9]+|[a-z]+", version.lower())
    return [(each.isdigit(), int(each) if each.isdigit() else 0, each) for each in parts]


def _nearest(pattern: str, ids: Collection[str]) -> str:
    """A sentence that offers the id or pattern that ``pattern`` probably stands for."""
    lower = pattern.lower()
    alike = [name for name in ids if fnmatch.fnmatchcase(name.lower(), lower)]
    if not alike:
        return did_you_mean(pattern, ids)
    meant = lower if fnmatch.filter(ids, lower) else alike[0]
    return f"Upper and lower case differ. Did you mean {meant!r}?"


def qualities_of(target: Target) -> dict[str, str]:
    """What conditions compare of ``target``."""
    return {
        **target.components,
        "cann": target.cann.version,
        "chip": target.chip,
        "flavour": target.flavour,
        "platform": target.platform,
        "architecture": target.docker_arch,
        "application": target.application.component if target.application else "",
    }


def _holds(qualities: Qualities, condition: str) -> bool:
    key, _, wanted = condition.partition("=")
    version = qualities.get(key, "")
    # As in 2.1.0.post6, 0.1+ascend, and the kernels of a release for a chip: "8.0.RC2 (910b)".
    after = version[len(wanted) : len(wanted) + 1]
    return version == wanted or (wanted != "" and version.startswith(wanted) and after in ".+ ")


def recommended_first(top: Section, targets: Mapping[str, Target]) -> dict[str, Target]:
    """``targets`` with those that are recommended first, in the order of the uses.

    A use for which no target fits is left out.
    """
    if not (section := top.section("recommended", required=False)):
        return {**targets}
    rules = {use: section.texts(use, _wrong_condition) for use in section.names()}
    if top.problems.count:
        # Of a target with a mistake nothing else is known.
        return {**targets}
    found: dict[str, Target] = {}
    for use, conditions in rules.items():
        fitting = _fitting(conditions, targets.values())
        if best := max(fitting, key=_rank, default=None):
            found.setdefault(best.id, replace(best, recommended=use))
    return {**found, **{name: each for name, each in targets.items() if name not in found}}


def _wrong_condition(condition: str) -> str:
    """What is wrong with ``condition``; "" if nothing is. Its key may be of a target to come."""
    good = condition.partition("=")[1]
    return "" if good else f"invalid condition {condition!r}; write it as in python=3.9."


def _fitting(conditions: Iterable[str], targets: Iterable[Target]) -> list[Target]:
    known = {each.id: each for each in targets if _is_for_anyone(each)}
    try:
        ids = select_ids(
            {name: qualities_of(each) for name, each in known.items()}, (), [*conditions]
        )
    except UsageError:
        return []
    return [known[name] for name in ids]


def _is_for_anyone(target: Target) -> bool:
    """Whether it is known to work, and anyone can have all of its files."""
    files = target.artifacts.values()
    return not target.unverified and all(each.is_downloadable for each in files)


def _rank(target: Target) -> tuple[CannVersion, Version, int]:
    cann = CannVersion.parse(target.cann.version)
    return cann, Version(target.torch or "0"), -len(target.components)
