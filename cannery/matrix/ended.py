# SPDX-License-Identifier: Apache-2.0
"""Targets of which a part is no longer maintained, which are proposed for removal. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cannery.common.bases import PythonSource
from cannery.common.model import Target
from cannery.compat import Finding, judge
from cannery.compat.facts import Compat
from cannery.compat.lifetimes import has_ended
from cannery.matrix.matrix import Matrix


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Parts of one or several ``targets`` whose maintenance has ended, one sentence each."""

    parts: tuple[str, ...]
    targets: tuple[str, ...]


def ended_targets(matrix: Matrix, compat: Compat, today: str) -> Iterator[Ended]:
    """The targets with a part that was maintained until a day before ``today``, by their parts."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for target in matrix.targets.values():
        over = [
            each.text
            for each in judge(target, compat)
            if has_ended(each, today) and not _is_distributions(each, target)
        ]
        if over:
            groups.setdefault(tuple(dict.fromkeys(over)), []).append(target.id)
    for parts, targets in sorted(groups.items(), key=lambda item: -len(item[0])):
        yield Ended(parts=parts, targets=tuple(targets))


def _is_distributions(finding: Finding, target: Target) -> bool:
    """Whether it is about an interpreter that the base's distribution maintains."""
    return finding.key == "python" and target.python.source is PythonSource.BASE
