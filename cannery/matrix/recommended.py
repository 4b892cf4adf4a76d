# SPDX-License-Identifier: Apache-2.0
"""Which targets are recommended, by the rules of the key ``recommended``. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from packaging.version import Version

from cannery.common.cann_version import CannVersion
from cannery.common.errors import UsageError
from cannery.common.model import Target
from cannery.common.yaml_reader import Section
from cannery.matrix.selection import qualities_of, select_ids


def recommended_first(top: Section, targets: Mapping[str, Target]) -> dict[str, Target]:
    """``targets`` with those that are recommended first, in the order of the uses.

    A use for which no target fits is left out.
    """
    if not (section := top.section("recommended", required=False)):
        return {**targets}
    rules = {use: section.texts(use, _wrong) for use in section.names()}
    if top.problems.count:
        # Of a target with a mistake nothing else is known.
        return {**targets}
    found: dict[str, Target] = {}
    for use, conditions in rules.items():
        fitting = _fitting(conditions, targets.values())
        if best := max(fitting, key=_order, default=None):
            found.setdefault(best.id, replace(best, recommended=use))
    return {**found, **{name: each for name, each in targets.items() if name not in found}}


def _wrong(condition: str) -> str:
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


def _order(target: Target) -> tuple[CannVersion, Version, int]:
    cann = CannVersion.parse(target.cann.version)
    return cann, Version(target.torch or "0"), -len(target.components)
