# SPDX-License-Identifier: Apache-2.0
"""``--quick``: the ratios that can be had in 12 minutes, each with its baseline in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bench import figures_build, figures_image, figures_text
from bench.figures import Builds, Work, with_stalls
from bench.figures_build import Plan, cold_figures, second_figure
from bench.result import Figure
from bench.session import Session
from bench.steps import longest
from bench.timing import Timed, TimeLeft
from cannery.common import console

TOTAL = 12 * 60
"""Seconds of a whole run."""

_NO_BASELINE = "is no ratio"

LEFT_OUT = {
    "e": "builds all targets, which takes an hour or more",
    "i": _NO_BASELINE,
    "j": _NO_BASELINE,
    "k": "builds both sides with gigabytes of packages, which takes 10 minutes or more",
    "l": "needs a build with gigabytes of packages",
    "m": _NO_BASELINE,
}

_COMMAND = 8
"""Seconds for the samples of one command of figure (h)."""

_COLD = 330
"""Seconds of the baseline's cold build, unless it was measured on this machine."""


@dataclass(kw_only=True)
class Budget:
    """The time of a run, which begins at once."""

    total: float = TOTAL
    clock: Callable[[], float] = time.monotonic
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.clock()

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.total - (self.clock() - self._start)

    def share(self, seconds: float) -> TimeLeft:
        """Whether the next ``seconds``, which begin now, or the whole time are not used up yet."""
        end = self.clock() + min(seconds, self.left)
        return lambda: self.clock() < end


def cold_and_second(session: Session, plan: Plan) -> list[Figure]:
    """(a) and (d) with one sample of each, from four builds. All images are there at the end."""
    session.prepare([plan.main, plan.second])
    alone = session.ours_cold(plan.second)
    ours = session.ours_cold(plan.main)
    after = session.counted(session.ours(plan.second))
    return [
        *_against_baseline(session, plan, ours),
        second_figure(plan, [after.seconds], [alone.seconds], longest(after.steps)),
    ]


def cold(session: Session, plan: Plan) -> list[Figure]:
    """(a) with one sample of each side. The images of both are there at the end."""
    session.prepare([plan.main])
    return _against_baseline(session, plan, session.ours_cold(plan.main))


def _against_baseline(session: Session, plan: Plan, ours: Timed) -> list[Figure]:
    baseline = session.baseline_beside_ours(plan.main)
    session.require_comparable(plan.main)
    return cold_figures(plan, [ours], [baseline], failed=session.failed)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage of the run on an engine.

    ``least`` is what it takes without taking samples again, and ``alone`` what it takes more if no
    stage before it has built the images that it uses. ``smaller`` measures a part of it, where
    there is too little time for all.
    """

    letters: str
    measure: Builds
    least: float
    alone: float = 0.0
    smaller: Stage | None = None


def stages(baseline: float) -> list[Stage]:
    """In this order, because a stage uses what an earlier one has built.

    ``baseline`` is the seconds of the baseline's cold build here, or 0 if that is unknown.
    """
    ours, both = 100, 100 + (baseline or _COLD)
    without_second = Stage(letters="a", measure=cold, least=both)
    return [
        Stage(letters="ad", measure=cold_and_second, least=ours + both, smaller=without_second),
        Stage(letters="g", measure=figures_image.size, least=5, alone=both),
        Stage(letters="b", measure=figures_build.unchanged, least=15, alone=both),
        Stage(letters="f", measure=figures_image.transfer, least=60, alone=ours),
        Stage(letters="c", measure=figures_build.moved, least=90, alone=both),
    ]


def measured(work: Work, letters: Sequence[str], budget: Budget) -> Iterator[list[Figure]]:
    """The figures of ``letters`` that there is time for, each as soon as it was measured.

    Raises:
        CanneryError: a figure cannot be measured.
    """
    for letter in letters:
        if letter in LEFT_OUT:
            console.say(f"figure ({letter}) is left out: it {LEFT_OUT[letter]}", "warning")
    if "h" in letters:
        name = work.targets[0].id
        shares = partial(budget.share, _COMMAND)
        yield [*figures_text.commands(work.project, work.runs, name, shares)]
        yield figures_text.rendering_here(work.project, work.runs or 7)
    if not (wanted := [*_wanted(stages(work.cold()), letters)]):
        return
    baseline, built = 0.0, False
    with work.session() as session:
        session.time_left = lambda: budget.left > 0
        for each in wanted:
            stage = each if built else replace(each, least=each.least + each.alone)
            plan = replace(work.plan(budget.share(stage.least)), cold=baseline)
            if figures := fitting(session, plan, stage, budget):
                yield figures
                baseline, built = baseline or _baseline(figures), True


def _wanted(all_stages: Iterable[Stage], letters: Sequence[str]) -> Iterator[Stage]:
    """Those that measure one of ``letters``, with a smaller one only if it does too."""
    for stage in all_stages:
        if {*stage.letters} & {*letters}:
            useful = stage.smaller and {*stage.smaller.letters} & {*letters}
            yield stage if useful else replace(stage, smaller=None)


def _baseline(figures: Sequence[Figure]) -> float:
    """The seconds of the baseline's cold build, if that is one of ``figures``."""
    references = (each.reference for each in figures if each.key == "cold")
    return next((each.median for each in references if each), 0.0)


def fitting(session: Session, plan: Plan, stage: Stage, budget: Budget) -> list[Figure]:
    """The figures of ``stage``, or of its smaller one, that there is enough time for."""
    if budget.left >= stage.least:
        console.say(f"figure {_names(stage.letters)}")
        return with_stalls(session, plan, stage.measure)
    smaller = stage.smaller.letters if stage.smaller else ""
    lost = _names(letter for letter in stage.letters if letter not in smaller)
    needs = f"about {stage.least:.0f} s are needed for {_names(stage.letters)}"
    why = f"{max(budget.left, 0):.0f} s are left, and {needs}"
    console.say(f"figure {lost} is left out: {why}", "warning")
    return fitting(session, plan, stage.smaller, budget) if stage.smaller else []


def _names(letters: Iterable[str]) -> str:
    return ", ".join(f"({letter})" for letter in letters)
