# SPDX-License-Identifier: Apache-2.0
"""All that a matrix.yaml says, and which of its targets are selected or recommended."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator

from cannery.common.errors import Problem, UsageError, closest, did_you_mean, some_of
from cannery.common.model import CHIPS, TRITON_ASCEND, USUAL_CHIP, CannRelease, Target
from cannery.compat import Compat, Finding
from cannery.compat.combination import has_ended, rank, whole_source


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Every target of a matrix.yaml, recommended ones first, and every CANN release.

    ``unused`` are the definitions that no target uses, each as in "pythons: cpython-3.9.2".
    ``findings`` has what compat.yaml says of each target, by its id; it is empty for a matrix that
    was read without it. ``changed`` are the definitions and targets of cannery/data that this
    matrix.yaml replaces or extends: key and name to a sentence with both places.
    ``platforms`` maps the id of a target for several platforms to the ids of the targets for each,
    of which it is the first.
    """

    targets: Mapping[str, Target]
    cann: Mapping[str, CannRelease] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    platforms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changed: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def changes_for(self, target: Target) -> list[str]:
        """Those of ``changed`` on which ``target`` rests, in the order of the file."""
        releases = {target.cann.version, target.kernels.version, target.nnal.version}
        application, index = target.application, target.torch_index
        names: dict[str, Collection[str]] = {
            "targets": {target.id},
            "chips": {target.chip},
            "bases": {target.base.name, target.build_base.name},
            "pythons": {target.python.name},
            "cann": releases,
            "applications": {application.name} if application else (),
            "torch_indexes": {index.name} if index else (),
            "torch_wheels": {target.torch},
            "torch_npu_wheels": {target.torch_npu},
            "apex": {target.apex.version} if target.apex else (),
            "deepspeed_wheels": {target.deepspeed},
            "deepspeed_plugins": {target.deepspeed},
            "triton_ascend_wheels": {target.extras.get(TRITON_ASCEND, "")},
            "recommended": (),
        }
        # Those of other keys act on all targets.
        return [
            text for (key, name), text in self.changed.items() if name in names.get(key, {name})
        ]


_SHOWN = 20
_NEAREST = 3

_Qualities = Mapping[str, str]
"""What conditions compare: components and the like, each with its version or name."""


def select_targets(
    targets: Mapping[str, Target], patterns: Sequence[str], conditions: Sequence[str]
) -> list[Target]:
    """The targets that match any of ``patterns`` (ids or globs; none for all), in their order.

    They fulfil all ``conditions``. One is as in ``python=3.9``: a component and a version of it, or
    the front part of one, or ``chip=910b``, ``platform=linux/arm64``, ``architecture=arm64``,
    ``flavour=runtime`` or ``application=vllm``; ``cann`` is the toolkit.

    Raises:
        UsageError: naming every pattern that fits no target and every condition that makes no
            sense, or because nothing is left.
    """
    qualities = {name: _qualities(target) for name, target in targets.items()}
    problems = [
        Problem(what=f"there is no target {pattern!r}.", fix=_nearest(pattern, targets))
        for pattern in patterns
        if not fnmatch.filter(targets, pattern)
    ]
    keys = {key for values in qualities.values() for key in values}
    for condition in conditions:
        key, _, value = condition.partition("=")
        if not value:
            what = f"invalid condition {condition!r}."
            problems.append(Problem(what=what, fix="Write it as in python=3.9."))
        elif key not in keys:
            problems.append(Problem(what=f"targets have no {key!r}.", fix=did_you_mean(key, keys)))
    if problems:
        raise UsageError(problems)
    selected = [
        target
        for name, target in targets.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns or ["*"])
        and _fulfils(qualities[name], conditions)
    ]
    if not selected:
        what = f"no target is selected by {' '.join([*patterns, *conditions])}."
        raise UsageError(Problem(what=what, fix=_hint(conditions, [*qualities.values()])))
    return selected


def _hint(conditions: Sequence[str], targets: Sequence[_Qualities]) -> str:
    """Values that ``conditions`` could name, where none of ``targets`` fulfils all of them."""
    hints = [_values(each, targets) for each in conditions if not _fulfilling(targets, [each])]
    if not any(hints):
        for condition in reversed(conditions):
            others = [each for each in conditions if each != condition]
            if others and (left := _fulfilling(targets, others)):
                key = condition.partition("=")[0]
                names = _names(key, left)
                hints = [f"With {' '.join(others)}, {key} is {some_of(names, _SHOWN) or 'none'}."]
                break
    return " ".join([*filter(None, hints), "'build.py list' shows all."])


def _values(condition: str, targets: Iterable[_Qualities]) -> str:
    key, _, wanted = condition.partition("=")
    values = _names(key, targets)
    if not re.match(r"[0-9]+\.", wanted):
        return did_you_mean(wanted, values)
    # Of versions, the nearest is the one of the same series, not the one that looks alike.
    series = ".".join(wanted.split(".")[:2])
    if alike := [each for each in values if _fulfils({key: each}, [f"{key}={series}"])]:
        return f"Of {series} there is {some_of(alike, _SHOWN)}."
    return f"Known: {some_of(values, _SHOWN)}." if values else ""


def _names(key: str, targets: Iterable[_Qualities]) -> list[str]:
    """The values of ``key``, by numbers, and words before numbers, as in 8.0.RC2 and 8.0.1."""

    def order(version: str) -> list[tuple[bool, int, str]]:
        parts = re.findall(r"[0-9]+|[a-z]+", version.lower())
        return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]

    return sorted({target.get(key, "") for target in targets} - {""}, key=order)


def _nearest(pattern: str, ids: Collection[str]) -> str:
    """A sentence that offers the id or pattern that ``pattern`` probably stands for."""
    lower = pattern.lower()
    alike = [name for name in ids if fnmatch.fnmatchcase(name.lower(), lower)]
    if not alike and closest(pattern, ids):
        return did_you_mean(pattern, ids)
    if not alike:
        near = [name for name in ids if name.startswith(pattern or "-")]
        near = near[:_NEAREST] or get_close_matches(pattern, ids, n=_NEAREST, cutoff=0.3)
        known = f"Near it: {', '.join(near)}. " if near else ""
        return f"{known}'build.py list' shows all {len(ids)} targets."
    meant = lower if fnmatch.filter(ids, lower) else alike[0]
    return f"Upper and lower case differ. Did you mean {meant!r}?"


def _qualities(target: Target) -> dict[str, str]:
    return {
        **target.components,
        "cann": target.cann.version,
        "chip": target.chip,
        "flavour": target.flavour,
        "platform": target.platform,
        "architecture": target.docker_arch,
        "application": target.application.component if target.application else "none",
    }


def _fulfilling(targets: Iterable[_Qualities], conditions: Sequence[str]) -> list[_Qualities]:
    return [target for target in targets if _fulfils(target, conditions)]


def _fulfils(qualities: _Qualities, conditions: Sequence[str]) -> bool:
    for condition in conditions:
        key, _, wanted = condition.partition("=")
        version = qualities.get(key, "")
        # As in 2.1.0.post6, 0.1+ascend, and the kernels of a release for a chip: "8.0.RC2 (910b)".
        after = version[len(wanted) : len(wanted) + 1]
        if version != wanted and not (wanted and version.startswith(wanted) and after in ".+ "):
            return False
    return True


def _condition(text: str) -> str:
    # Its key may be of a target to come.
    if "=" not in text:
        raise ValueError(f"invalid condition {text!r}; write it as in python=3.9.")
    return text


Condition = Annotated[str, AfterValidator(_condition)]


def recommended_first(
    rules: Mapping[str, Sequence[str]], targets: Mapping[str, Target], compat: Compat | None
) -> dict[str, Target]:
    """``targets`` with those first that are recommended by ``rules``, use to conditions.

    Those for the usual chip are the first. A use or a chip for which no target fits is left out.
    """
    candidates = {
        name: target
        for name, target in targets.items()
        if not target.unverified
        and all(file.is_downloadable for file in target.artifacts.values())
        and (compat is None or (whole_source(target, compat) and not has_ended(target, compat)))
    }
    recommended: dict[str, Target] = {}
    for chip in (USUAL_CHIP, *(chip for chip in CHIPS if chip != USUAL_CHIP)):
        for use, conditions in rules.items():
            with suppress(UsageError):
                fitting = select_targets(candidates, (), [*conditions, f"chip={chip}"])
                best = max(fitting, key=rank)
                recommended.setdefault(best.id, replace(best, recommended=use))
    return {**recommended, **{name: t for name, t in targets.items() if name not in recommended}}
