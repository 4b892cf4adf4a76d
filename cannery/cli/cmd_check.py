# SPDX-License-Identifier: Apache-2.0
"""``build.py check``: whether what the matrix asks for is known to work."""

from __future__ import annotations

from collections import Counter

from cannery.cli.common import read, selected
from cannery.compat import OWN_FACTS, Verdict, judge, load_compat
from cannery.matrix.project import Project
from cannery.options.given import Given
from cannery.options.shared import TargetOptions


def run(given: Given, project: Project) -> int:
    """Print one line when everything may be built, and what is built on trust.

    Raises:
        MatrixError: with everything that is wrong, each with its line.
        UsageError, FileError: as ``selected``.
    """
    targets = selected(read(TargetOptions, given, project), project)
    compat = load_compat(project.root / OWN_FACTS.name)
    counts: Counter[Verdict] = Counter()
    disputed = 0
    for target in targets:
        verdicts = Counter(finding.verdict for finding in judge(target, compat))
        counts += verdicts
        disputed += bool(verdicts[Verdict.DISPUTED])
        if target.unverified:
            print(f"{target.id}: unverified: {target.unverified}")
            if not verdicts[Verdict.UNKNOWN]:
                print(f"{target.id}: all of it is known by now, 'unverified' can be removed")
    number = f"{len(targets)} target{'s' if len(targets) > 1 else ''} checked"
    if trusted := counts[Verdict.UNKNOWN]:
        parts = "1 component is" if trusted == 1 else f"{trusted} components are"
        summary = f"{number}: {parts} unverified, all else is known to work"
    else:
        summary = f"{number}: all is known to work"
    if disputed:
        summary += f" (sources disagree in {disputed}; see: python build.py explain TARGET)"
    print(summary)
    return 0
