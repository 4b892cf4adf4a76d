# SPDX-License-Identifier: Apache-2.0
"""Reports what compat.yaml refuses: each cause once, where it is, with the targets it concerns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml

from cannery.common.errors import some_of
from cannery.common.model import Target
from cannery.common.yaml_reader import Section

if TYPE_CHECKING:
    from cannery.compat import Compat, Refusal

_NAMED = 3
"""How many of the targets that a cause concerns are named."""


@dataclass(kw_only=True)
class _Cause:
    node: yaml.Node
    first: Refusal
    shared: bool
    targets: list[str] = field(default_factory=list)


class Judgement:
    """Collects why targets of one file must not be built; without ``compat`` nothing is refused."""

    def __init__(self, top: Section, compat: Compat | None) -> None:
        self._top = top
        self._compat = compat
        self._causes: dict[tuple[int, str], _Cause] = {}

    def add(self, target: Target, section: Section) -> None:
        """Judge ``target``, which was read from ``section``."""
        if self._compat is None:
            return
        # Imported here, because a matrix that has passed is not judged.
        from cannery.compat import refusals_of

        for refusal in refusals_of(target, self._compat):
            shared = bool(refusal.place)
            node = self._top.at(refusal.place) if shared else section.node_of(refusal.key)
            found = _Cause(node=node, first=refusal, shared=shared)
            cause = self._causes.setdefault((node.start_mark.index, refusal.finding.text), found)
            cause.targets.append(target.id)

    def report(self) -> None:
        """Make a problem of every cause."""
        for cause in self._causes.values():
            problem = cause.first.problem
            what = problem.what
            if cause.shared or len(cause.targets) > 1:
                what += f" It concerns {some_of(cause.targets, _NAMED)}."
            self._top.problems.add(cause.node, what, problem.fix)
