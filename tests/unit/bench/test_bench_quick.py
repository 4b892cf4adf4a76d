# SPDX-License-Identifier: Apache-2.0
"""The quick run: what is measured in its time, with stand-ins for the builds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench import figures_text, quick
from bench.__main__ import main
from bench.arguments import parse
from bench.figures import LETTERS, Work
from bench.figures_build import Plan
from bench.quick import Budget
from bench.result import Figure, Series
from bench.session import Session
from bench.timing import Timed, alternating
from cannery.common.errors import UsageError
from cannery.common.model import Target
from cannery.matrix.project import Project


class Clock:
    """A clock that only what is measured moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def sampled(clock: Clock, runs: int, share: float, budget: Budget) -> list[int]:
    """How many samples of 10 s each of two sides there are in a share."""

    def side() -> float:
        clock.now += 10
        return 10.0

    samples = alternating((runs, runs), (side, side), budget.share(share))
    return [len(each) for each in samples]


def test_samples_end_when_a_share_is_used_up(clock: Clock) -> None:
    budget = Budget(total=500, clock=clock)
    assert sampled(clock, 15, 100, budget) == [5, 5]
    assert sampled(clock, 3, 100, budget) == [3, 3]
    assert budget.left == 500 - 160
    clock.now += 320
    # The share is larger than what is left of the whole.
    assert sampled(clock, 15, 100, budget) == [1, 1]
    assert sampled(clock, 15, 100, budget) == [1, 1]
    assert budget.left == -20


def test_a_side_that_joins_later_has_a_sample_too() -> None:
    taken: list[str] = []

    def side(name: str) -> float:
        taken.append(name)
        return 1.0

    samples = alternating((5, 1), (lambda: side("a"), lambda: side("b")), lambda: len(taken) < 2)
    assert "".join(taken) == "aab"
    assert samples == ((1.0, 1.0), (1.0,))


class StandIn:
    """A session that takes time and builds nothing."""

    def __init__(self, clock: Clock, *, baseline: int) -> None:
        self.clock, self._baseline = clock, baseline
        self.failed = self.repeated = self.stalled = 0
        self.time_left: Any = None
        self.built: list[str] = []

    def prepare(self, targets: Any) -> None:
        pass

    def _done(self, name: str, seconds: float) -> Timed:
        self.built.append(name)
        self.clock.now += seconds
        return Timed(seconds=seconds, lines=())

    def ours_cold(self, target: Target) -> Timed:
        return self._done(f"cold {target.id}", 50)

    def ours(self, target: Target) -> Timed:
        return self._done(target.id, 5)

    def counted(self, done: Timed) -> Timed:
        return done

    def baseline_beside_ours(self, target: Target) -> Timed:
        self.repeated += 1
        return self._done(f"baseline {target.id}", self._baseline)

    def require_comparable(self, target: Target) -> None:
        self.built.append(f"compared {target.id}")


def figure(key: str) -> Figure:
    return Figure(key=key, title=key, unit="s", ours=Series(what="ours", samples=(1.0,)))


class Quick:
    """A quick run with stand-ins; ``plans`` are what the stages after the first were given."""

    def __init__(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch, *, baseline: int = 300, known: int = 0
    ) -> None:
        self.session = StandIn(clock, baseline=baseline)
        self.plans: list[Plan] = []
        self._budget = Budget(clock=clock)
        first, *others = quick.stages(known)
        stages = [first, *(replace(each, measure=self._one(each.letters)) for each in others)]
        monkeypatch.setattr(quick, "stages", lambda _cold: stages)
        monkeypatch.setattr(figures_text, "commands", lambda *_: iter([figure("help")]))
        monkeypatch.setattr(figures_text, "rendering_here", lambda *_: [figure("check")])

    def _one(self, letters: str) -> Any:
        def measure(_session: Session, plan: Plan) -> list[Figure]:
            self.plans.append(plan)
            keys = {"g": "size", "b": "unchanged", "f": "pulled", "c": "moved"}
            return [figure(keys[letters])]

        return measure

    @contextmanager
    def _engine(self) -> Iterator[Session]:
        yield cast("Session", self.session)

    def run(self, letters: str) -> dict[str, Figure]:
        """Key to figure of what is measured."""
        one, two = (cast("Target", SimpleNamespace(id=name)) for name in ("one", "two"))
        work = SimpleNamespace(
            project=None,
            runs=0,
            targets=(one, two),
            cold=lambda: 0.0,
            session=self._engine,
            plan=lambda time_left: Plan(
                main=one,
                second=two,
                all=(),
                runs=3,
                slow_runs=1,
                cold=99.0,
                time_left=time_left,
            ),
        )
        found = quick.measured(cast("Work", work), [*letters], self._budget)
        return {each.key: each for figures in found for each in figures}


def test_all_that_is_not_left_out_is_measured_with_its_baseline(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Quick(clock, monkeypatch)
    found = one.run("".join(LETTERS))
    assert [*found] == [
        *("help", "check", "cold", "cold-processor"),
        *("second", "size", "unchanged", "pulled", "moved"),
    ]
    # The baseline of this run, and not the stored one.
    assert {plan.cold for plan in one.plans} == {300}
    assert found["cold"].ratio == pytest.approx(50 / 300)
    assert found["second"].ratio == pytest.approx(5 / 50)
    # The images of both sides are there for the other figures.
    assert one.session.built == [
        *("cold two", "cold one", "two", "baseline one", "compared one"),
    ]
    assert (found["cold"].repeated, found["size"].repeated) == (1, 0)
    said = capsys.readouterr().err
    for letter, reason in quick.LEFT_OUT.items():
        assert f"figure ({letter}) is left out: it {reason}" in said


def test_what_there_is_no_time_for_is_named_with_the_reason(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Quick(clock, monkeypatch, baseline=900).run("abfg")
    assert [*found] == ["cold", "cold-processor", "second"]
    said = capsys.readouterr().err
    assert "figure (f) is left out: 0 s are left, and about 60 s are needed for (f)" in said


def test_a_slow_baseline_leaves_time_for_its_ratio(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Quick(clock, monkeypatch, baseline=531, known=531)
    clock.now += 60
    assert [*one.run("abdg")] == ["cold", "cold-processor", "size", "unchanged"]
    assert one.session.built == ["cold one", "baseline one", "compared one"]
    why = "660 s are left, and about 731 s are needed for (a), (d)"
    assert f"figure (d) is left out: {why}" in capsys.readouterr().err


def test_no_time_for_the_second_target_builds_nothing_else(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Quick(clock, monkeypatch, baseline=531, known=531)
    clock.now += 60
    assert [*one.run("d")] == []
    assert not one.session.built


def test_what_needs_images_needs_the_time_to_build_them(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = Quick(clock, monkeypatch)
    clock.now += 250
    assert [*one.run("bg")] == ["size", "unchanged"]
    clock.now += 100
    assert [*one.run("b")] == []
    why = "370 s are left, and about 445 s are needed for (b)"
    assert f"figure (b) is left out: {why}" in capsys.readouterr().err


def test_nothing_is_built_for_figures_of_the_command_line(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Quick(clock, monkeypatch)
    assert [*one.run("h")] == ["help", "check"]
    assert not one.session.built


def test_every_figure_is_measured_or_left_out_for_a_reason() -> None:
    measured = {letter for stage in quick.stages(0) for letter in stage.letters}
    assert sorted([*measured, *quick.LEFT_OUT, "h"]) == LETTERS
    # What is needed at least leaves a reserve.
    assert sum(stage.least for stage in quick.stages(0)) <= quick.TOTAL


def test_commands_are_measured_in_turn_with_python(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[str] = []

    def once(argv: list[str]) -> float:
        run.append(argv[-1])
        return 22.0 if argv[-1] == "pass" else 100.0

    monkeypatch.setattr(figures_text, "once", once)
    found = figures_text.commands(Project(root=Path("/p")), 0, "t", lambda: lambda: len(run) < 9)
    first = next(found)
    # Once beforehand, and then in turn while there is time.
    assert run == ["--help", *["--help", "pass"] * 4]
    assert (first.key, len(first.ours.samples)) == ("help", 4)
    # On a machine where Python starts twice as fast it would be 50 ms.
    assert first.limit.measured(first.ours.median, 22.0) == pytest.approx(50)
    assert first.passed is True
    assert [each.key for each in found] == ["list", "explain", "check-matrix", "plan-all", "plan"]


def test_a_run_for_a_comparison_writes_one_file_and_judges_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = Figure(
        key="list",
        title="build.py list",
        unit="ms",
        ours=Series(what="whole process", samples=(900.0,)),
        reference=Series(what="python -c pass", samples=(11.0,)),
    )
    monkeypatch.setattr(figures_text, "commands", lambda *_: iter([slow]))
    monkeypatch.setattr(figures_text, "rendering_here", lambda *_: [])
    monkeypatch.setattr("bench.checkout.copied", lambda project, _folder: project)
    out = tmp_path / "out.jsonl"
    assert main(["--quick", "--only", "h", "--out", str(out)]) == 0
    assert main(["--quick", "--only", "h", "--out", str(out)]) == 0
    assert "limit 600 ms, here 900: EXCEEDED" in capsys.readouterr().out
    assert len(out.read_text("utf-8").splitlines()) == 2
    assert main(["--compare", str(out), str(out)]) == 0
    assert "| build.py list | 2, 2 | 1.00 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv", [["--only", "x"], ["--runs", "-1"], ["--draw", "--history"], ["--compare", "a"]]
)
def test_options_that_make_no_sense_are_refused(argv: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(argv)
