# SPDX-License-Identifier: Apache-2.0
"""Figure (h): a command that reads and judges the whole matrix. No engine is needed."""

from __future__ import annotations

import sys
from functools import partial

from bench.result import Figure, Series
from bench.timing import alternating, once
from cannery.matrix.project import Project

_RUNS = 15


def check(project: Project, runs: int) -> list[Figure]:
    """``build.py check`` as a whole process, against a Python process that does nothing."""
    ours = partial(once, [sys.executable, str(project.root / "build.py"), "check"])
    nothing = partial(once, [sys.executable, "-c", "pass"])
    ours()
    count = max(runs, _RUNS)
    samples = alternating((count, count), (ours, nothing))
    return [
        Figure(
            key="check",
            title=f"build.py check of all {len(project.matrix().targets)} targets",
            unit="ms",
            ours=Series(what="whole process", samples=samples[0]),
            reference=Series(what="python -c pass", samples=samples[1]),
        )
    ]
