# SPDX-License-Identifier: Apache-2.0
"""Figures (a) and (c): the cost of builds."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bench import checkout, moves
from bench.result import Figure, Series
from bench.session import Session
from bench.steps import longest
from bench.timing import Timed, alternating
from cannery.common import console
from cannery.common.model import Target


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The targets, and the numbers of samples.

    ``real_size`` is the installed size of the padded packages of figure (k), in bytes.
    """

    main: Target
    all: tuple[Target, ...]
    runs: int
    slow_runs: int
    real_size: int = 0


class _Kept:
    """A build that keeps what is known of its runs."""

    def __init__(self, build: Callable[[], Timed]) -> None:
        self._build = build
        self.runs: list[Timed] = []

    def __call__(self) -> float:
        done = self._build()
        self.runs.append(done)
        console.say(f"{done.seconds:.1f} s")
        return done.seconds


def cold(session: Session, plan: Plan) -> list[Figure]:
    """(a) A build on an empty engine, against the baseline's.

    The baseline is built last, so that the following figures can use its image.
    """
    session.prepare([plan.main])

    def compared(build: Callable[[Target], Timed]) -> Timed:
        done = build(plan.main)
        session.require_comparable(plan.main)
        return done

    ours = _Kept(partial(compared, session.ours_cold))
    baseline = _Kept(partial(compared, session.baseline_cold))
    alternating((plan.runs, plan.slow_runs), (ours, baseline))
    return cold_figures(plan, ours.runs, baseline.runs, failed=session.failed)


def cold_figures(
    plan: Plan, ours: Sequence[Timed], baseline: Sequence[Timed], *, failed: int
) -> list[Figure]:
    """Figures (a) from the runs of both sides; ``failed`` runs were repeated after a failure."""
    duration = Figure(
        key="cold",
        title="cold build",
        unit="s",
        ours=Series(what="build.py build", samples=tuple(run.seconds for run in ours)),
        reference=Series(what="baseline", samples=tuple(run.seconds for run in baseline)),
        detail={
            "target": plan.main.id,
            "steps": longest(ours[-1].steps),
            "baseline_steps": longest(baseline[-1].steps),
            "failed_builds": failed,
        },
    )
    processor = ([run.processor for run in side] for side in (ours, baseline))
    return with_processor(duration, *processor)


def with_processor(
    duration: Figure, ours: Sequence[float], reference: Sequence[float] = ()
) -> list[Figure]:
    """A figure of durations, and one of the processor time of the same runs, in seconds."""
    other = duration.reference
    processor = replace(
        duration,
        key=f"{duration.key}-processor",
        title=f"processor time, on all cores: {duration.title}",
        ours=replace(duration.ours, samples=tuple(ours)),
        reference=replace(other, samples=tuple(reference)) if other else None,
        detail={},
    )
    return [duration, processor]


def moved(session: Session, plan: Plan) -> list[Figure]:
    """(c) A rebuild after the update of one library, a different version for each sample.

    The baseline gets the same versions.
    """
    session.prepare([plan.main])
    session.baseline_warm(plan.main)
    session.ours_warm(plan.main)
    lock = session.project.lock(plan.main).read_text(encoding="utf-8")
    folder = Path(tempfile.mkdtemp(prefix="moves-", dir=session.folder))
    version = plan.main.python.version
    steps = moves.earlier(lock, moves.LIBRARY, version, plan.runs, folder)
    copy = checkout.copied(session.project, folder / "checkout")
    used: list[str] = []
    left, theirs = iter(steps), iter(steps[plan.runs - plan.slow_runs :])

    def rebuild() -> Timed:
        step = next(left)
        used.append(step.version)
        copy.lock(plan.main).write_text(moves.moved(lock, step), encoding="utf-8")
        checkout.render(copy, "--target", plan.main.id)
        done = session.ours(plan.main, root=copy.root)
        image = session.ours_name(plan.main)
        session.require_version(plan.main, image, step.name, step.version)
        return done

    def baseline_rebuild() -> Timed:
        step = next(theirs)
        done = session.baseline(plan.main, moves.moved(lock, step))
        image = session.baseline_name(plan.main)
        session.require_version(plan.main, image, step.name, step.version)
        return done

    sides = (_Kept(rebuild), _Kept(baseline_rebuild))
    samples = alternating((plan.runs, plan.slow_runs), sides)
    shutil.rmtree(folder)
    return [
        Figure(
            key="moved",
            title="rebuild after a library update",
            unit="s",
            ours=Series(what="build.py build", samples=samples[0]),
            reference=Series(what="baseline, same update", samples=samples[1]),
            detail={"target": plan.main.id, "moved": f"{moves.LIBRARY} to {', '.join(used)}"},
        )
    ]
