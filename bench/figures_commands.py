# SPDX-License-Identifier: Apache-2.0
"""Figures (h) and (i): a command that judges the whole matrix, and the image tests of a target."""

from __future__ import annotations

import sys
from functools import partial

from bench.figures_build import Plan
from bench.result import Figure, Series
from bench.session import Session
from bench.timing import alternating, once, timed
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


def tests(session: Session, plan: Plan) -> list[Figure]:
    """(i) The image tests of a target, on all kinds of device."""
    session.prepare([plan.main])
    session.ours_warm(plan.main)
    argv = [sys.executable, str(session.project.root / "build.py"), "test"]
    argv += ["--target", plan.main.id, "--simulate"]
    done = [timed(argv, session.logs / "tests.log") for _ in range(plan.runs)]
    return [
        Figure(
            key="tests",
            title="image tests of one target, on all kinds of device",
            unit="s",
            ours=Series(what="build.py test", samples=tuple(each.seconds for each in done)),
            detail={"target": plan.main.id},
        )
    ]
