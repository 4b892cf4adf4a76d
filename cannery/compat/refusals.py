# SPDX-License-Identifier: Apache-2.0
"""Which findings keep a target from being built, and how each is reported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cannery.common.errors import Problem
from cannery.common.model import Target
from cannery.compat.facts import Compat
from cannery.compat.finding import Finding, Place, Verdict
from cannery.compat.nearest import nearest


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One reason why a target must not be built.

    ``with_nearest`` says that it is the one beside which the nearest known combinations are named.
    """

    finding: Finding
    target: Target
    compat: Compat
    with_nearest: bool

    @property
    def key(self) -> str:
        """The target's key in matrix.yaml that it is about."""
        return self.finding.key

    @property
    def place(self) -> Place:
        """Where in matrix.yaml the cause is; empty if that is the target's own key."""
        return self.finding.place

    @property
    def problem(self) -> Problem:
        """What is wrong, who says so, and what to do."""
        finding = self.finding
        what = finding.text
        if finding.rows:
            what += f" Source: {finding.rows[0].cited}."
        if finding.against:
            what += f" Against it: {finding.against[0].cited}."
        fixes = [finding.fix] if finding.fix else []
        if self.with_nearest and (known := nearest(self.target, self.compat)):
            fixes.append("Nearest known: " + "; or ".join(map(str, known)) + ".")
        if finding.verdict is Verdict.UNKNOWN:
            fixes.append("If it works for you, add 'unverified: why' to the target.")
        return Problem(what=what, fix=" ".join(fixes))


def refusals_of(target: Target, findings: Iterable[Finding], compat: Compat) -> list[Refusal]:
    """Every reason why ``target`` must not be built, of its ``findings``.

    That is everything that is known to fail, and, unless the target says ``unverified: reason``,
    everything that is not known to work.
    """
    failing = [finding for finding in findings if not passes(finding, target)]
    first = next((finding for finding in failing if finding.pairs), None)
    return [
        Refusal(finding=each, target=target, compat=compat, with_nearest=each is first)
        for each in failing
    ]


def passes(finding: Finding, target: Target) -> bool:
    """Whether ``target`` may be built as far as ``finding`` is concerned."""
    if finding.verdict is Verdict.UNKNOWN:
        return bool(target.unverified)
    return finding.verdict is not Verdict.FORBIDDEN
