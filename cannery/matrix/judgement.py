# SPDX-License-Identifier: Apache-2.0
"""Reports what compat.yaml refuses: each cause once, where it is, with the targets it concerns."""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

from cannery.common.errors import some_of
from cannery.common.model import Target
from cannery.common.yaml_reader import Section
from cannery.compat import Compat, Finding, Refusal, judge, refusals_of

_NAMED = 3
"""How many of the targets that a cause concerns are named."""


@dataclass(kw_only=True)
class _Cause:
    node: yaml.Node
    first: Refusal
    shared: bool
    targets: list[str] = field(default_factory=list)


class Judgement:
    """Collects why targets of one file must not be built; without ``compat`` nothing is refused.

    ``findings`` has everything that is known of each target, by its id.
    """

    def __init__(self, top: Section, compat: Compat | None) -> None:
        self._top = top
        self._compat = compat
        self._causes: dict[tuple[int, str], _Cause] = {}
        self.findings: dict[str, list[Finding]] = {}

    def add(self, target: Target, section: Section) -> None:
        """Judge ``target``, which was read from ``section``."""
        if self._compat is None:
            return
        found = self.findings[target.id] = judge(target, self._compat)
        for refusal in refusals_of(target, found, self._compat):
            shared = bool(refusal.place)
            node = self._top.at(refusal.place) if shared else section.node_of(refusal.key)
            new = _Cause(node=node, first=refusal, shared=shared)
            cause = self._causes.setdefault((node.start_mark.index, refusal.finding.text), new)
            cause.targets.append(target.id)

    def report(self) -> None:
        """Make a problem of every cause."""
        for cause in self._causes.values():
            problem = cause.first.problem
            what = problem.what
            if cause.shared or len(cause.targets) > 1:
                what += f" It concerns {some_of(cause.targets, _NAMED)}."
            self._top.problems.add(cause.node, what, problem.fix)
