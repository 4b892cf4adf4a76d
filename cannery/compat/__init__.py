# SPDX-License-Identifier: Apache-2.0
"""What is known not to work, or not known to work, found before a build is wasted on it.

load: compat.yaml to rows. rules: a target and the rows to findings. nearest: what to change.
propose: a whole target from a few versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cannery.compat.facts import Compat
from cannery.compat.finding import Finding, Verdict
from cannery.compat.load import load_compat
from cannery.compat.nearest import nearest
from cannery.compat.rules import judge, judge_versions
from cannery.errors import Problem
from cannery.model import Target

__all__ = [
    "OWN_FACTS",
    "Finding",
    "Verdict",
    "check_target",
    "facts_beside",
    "judge",
    "load_compat",
    "passes",
]

OWN_FACTS = Path(__file__).resolve().parents[2] / "compat.yaml"
"""The compat.yaml of the checkout that this code is in."""


def facts_beside(matrix: Path) -> Compat | None:
    """What the compat.yaml beside ``matrix`` says; None for a matrix elsewhere that has none.

    Raises:
        FileError: there is none, and ``matrix`` is this checkout's own.
        MatrixError: it is wrong.
    """
    path = matrix.resolve().parent / OWN_FACTS.name
    return load_compat(path) if path == OWN_FACTS or path.exists() else None


def check_target(target: Target, compat: Compat | None = None) -> Iterator[tuple[str, Problem]]:
    """Yield the key that is wrong and why, for each thing in ``target`` that must not be built.

    That is whatever is known to fail, and, unless the target says ``unverified: reason``, whatever
    is not known to work. Without ``compat`` only what holds whatever the CANN is looked at.

    Raises:
        FileError, MatrixError: as ``load_compat``.
    """
    if compat is None:
        for finding in judge_versions(target, load_compat(OWN_FACTS)):
            if finding.verdict is Verdict.FORBIDDEN:
                yield finding.key, Problem(what=finding.text, fix=finding.fix)
        return
    findings = [each for each in judge(target, compat) if not passes(each, target)]
    told_nearest = False
    for finding in findings:
        yield finding.key, _problem(finding, target, compat, with_nearest=not told_nearest)
        told_nearest = told_nearest or finding.pairs


def passes(finding: Finding, target: Target) -> bool:
    """Whether ``target`` may be built as far as ``finding`` goes."""
    if finding.verdict is Verdict.UNKNOWN:
        return bool(target.unverified)
    return finding.verdict is not Verdict.FORBIDDEN


def _problem(finding: Finding, target: Target, compat: Compat, *, with_nearest: bool) -> Problem:
    what = finding.text
    if finding.rows:
        what += f" Source: {finding.rows[0].cited}."
    if finding.against:
        what += f" Against it: {finding.against[0].cited}."
    fixes = [finding.fix] if finding.fix else []
    if finding.pairs and with_nearest and (known := nearest(target, compat)):
        fixes.append("Nearest known: " + "; or ".join(map(str, known)) + ".")
    if finding.verdict is Verdict.UNKNOWN:
        fixes.append("If it works for you, add 'unverified: why' to the target.")
    return Problem(what=what, fix=" ".join(fixes))
