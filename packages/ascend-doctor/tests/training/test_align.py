# SPDX-License-Identifier: Apache-2.0
"""Two runs are aligned, part at a step, or cannot be judged; and the advice fits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_doctor.training.advice import advice_on
from ascend_doctor.training.align import Alignment, Verdict, align
from ascend_doctor.training.alignment_report import alignment_text
from ascend_doctor.training.log_lines import Entry
from ascend_doctor.training.loss_log import Loss, LossLog
from tests.training.training_logs import LOSSES


def log(
    losses: Sequence[float],
    values: Mapping[str, Any] | None = None,
    *,
    first: int = 1,
    every: int = 1,
) -> LossLog:
    """A log of ``losses``, each with the other ``values``."""
    entries = [Entry(form="HF Trainer", loss=loss, **values or {}) for loss in losses]
    found = [
        Loss(step=first + number * every, width=every, entry=entry)
        for number, entry in enumerate(entries)
    ]
    path = Path("train.log")
    return LossLog(path=path, form="HF Trainer", losses=tuple(found), numbered=True, notes=())


def changed(step: int, loss: float) -> list[float]:
    """The losses of the reference with another one from ``step``."""
    return [loss if number >= step else each for number, each in enumerate(LOSSES, 1)]


def ids(found: Alignment) -> list[str]:
    return [each.id for each in advice_on(found)]


def test_equal_losses_are_aligned() -> None:
    found = align(log(LOSSES), log(LOSSES))
    assert found.verdict is Verdict.ALIGNED
    assert ids(found) == ["next"]


@pytest.mark.parametrize(
    ("step", "loss", "verdict"),
    [
        (1, 2.918 * 1.0049, Verdict.ALIGNED),
        (1, 2.918 * 1.0051, Verdict.PARTED),
        (2, 2.8388 * 1.0099, Verdict.ALIGNED),
        (2, 2.8388 * 0.9899, Verdict.PARTED),
        (10, 2.2913 * 1.02, Verdict.PARTED),
    ],
)
def test_the_limits(step: int, loss: float, verdict: Verdict) -> None:
    run = [loss if number == step else each for number, each in enumerate(LOSSES, 1)]
    found = align(log(LOSSES), log(run))
    assert found.verdict is verdict
    assert not found.parted or found.parted.step == step


def test_small_losses_may_differ_by_an_absolute_amount() -> None:
    small = [0.001] * 10
    assert align(log(small), log([0.0059, *[0.0109] * 9])).verdict is Verdict.ALIGNED
    assert align(log(small), log([0.0061, *[0.0109] * 9])).verdict is Verdict.PARTED
    assert align(log([0.0] * 10), log([0.0] * 10)).verdict is Verdict.ALIGNED


def test_a_tolerance_of_ones_own() -> None:
    run = [loss * 1.015 for loss in LOSSES]
    assert align(log(LOSSES), log(run)).verdict is Verdict.PARTED
    assert align(log(LOSSES), log(run), tolerance=4).verdict is Verdict.ALIGNED


def test_a_few_steps_after_the_first_do_not_decide() -> None:
    run = [*LOSSES[:6], *[9.0] * 4]
    found = align(log(LOSSES), log(run), steps=6)
    assert found.verdict is Verdict.ALIGNED
    assert [pair.within for pair in found.later] == [False] * 4


@pytest.mark.parametrize(
    ("step", "loss", "advice"),
    [
        (1, 3.5, ["first-step", "deepspeed", "own-noise"]),
        (2, 3.5, ["second-step", "deepspeed", "own-noise"]),
        (3, 3.5, ["later-step", "deepspeed", "own-noise"]),
        (3, math.nan, ["not-finite"]),
        (1, math.inf, ["not-finite"]),
    ],
)
def test_the_step_at_which_they_part_hints_at_the_cause(
    step: int, loss: float, advice: list[str]
) -> None:
    found = align(log(LOSSES), log(changed(step, loss)))
    assert found.verdict is Verdict.PARTED
    assert ids(found) == advice
    assert all(each.sources and each.do for each in advice_on(found))


def test_a_non_finite_reference_is_reported() -> None:
    found = align(log(changed(4, math.nan)), log(LOSSES))
    assert ids(found) == ["reference-not-finite"]
    both = align(log(changed(4, math.nan)), log(changed(4, math.nan)))
    assert both.verdict is Verdict.PARTED


def test_a_zero_loss_with_a_nan_norm_counts_as_nan() -> None:
    """As in LLaMA-Factory#3308: 'loss': 0.0, 'grad_norm': nan."""
    run = log([0.0] * 10, {"grad_norm": math.nan})
    found = align(log(LOSSES, {"grad_norm": 1.0}), run)
    assert ids(found)[0] == "not-finite"


def test_other_logged_values_are_compared() -> None:
    values = {"grad_norm": 1.0, "learning_rate": 1e-5, "epoch": 1.0}
    reference = log(LOSSES, values)
    assert ids(align(reference, log(LOSSES, values))) == ["next"]
    assert ids(align(reference, log(LOSSES, values | {"grad_norm": 1.09}))) == ["next"]
    assert "gradient-norm" in ids(align(reference, log(LOSSES, values | {"grad_norm": 1.2})))
    assert "gradient-norm" in ids(align(reference, log(LOSSES, values | {"grad_norm": math.nan})))
    assert "learning-rate" in ids(align(reference, log(LOSSES, values | {"learning_rate": 2e-5})))
    assert "epoch" in ids(align(reference, log(LOSSES, values | {"epoch": 2.0})))


def with_rates(*rates: float) -> LossLog:
    logs = [log([loss], {"learning_rate": rate}) for loss, rate in zip(LOSSES, rates, strict=False)]
    losses = [replace(each.losses[0], step=step) for step, each in enumerate(logs, 1)]
    return replace(logs[0], losses=tuple(losses))


def test_programs_log_the_learning_rate_of_this_step_or_of_the_next() -> None:
    """transformers 5 logs the first, transformers 4 the second."""
    reference = with_rates(1e-5, 2e-5, 3e-5, 4e-5, 5e-5)
    assert "learning-rate" not in ids(align(reference, with_rates(2e-5, 3e-5, 4e-5, 5e-5, 5e-5)))
    assert "learning-rate" not in ids(align(reference, with_rates(0, 1e-5, 2e-5, 3e-5, 4e-5)))
    found = align(reference, with_rates(1e-5, 2e-5, 3e-5, 5e-5, 5e-5))
    assert found.rate_parts == 4
    assert align(with_rates(1e-5), with_rates(2e-5)).rate_parts == 1


def test_a_mean_of_ten_steps_is_compared_with_ten_steps() -> None:
    reference = log([float(step) for step in range(1, 101)])
    found = align(reference, log([5.5, 15.5, 25.5, 35.5, 45.5, 99.0], first=10, every=10))
    assert [(pair.step, pair.width, pair.within) for pair in found.pairs][4:] == [
        (50, 10, True),
        (60, 10, False),
    ]
    assert found.verdict is Verdict.PARTED
    assert ids(found)[0] == "later-step"


def test_a_run_without_the_first_step_is_incomplete() -> None:
    found = align(log(LOSSES), log([sum(LOSSES[:5]) / 5, sum(LOSSES[5:]) / 5], first=5, every=5))
    assert found.verdict is Verdict.INCOMPLETE
    [advice] = advice_on(found)
    assert "first step cannot be compared" in advice.what
    assert "logging_steps to 1" in advice.do


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (log(LOSSES[:3]), "Only 3 steps"),
        (log(LOSSES, first=41), "no common steps: 1-10 and 41-50"),
        (log(LOSSES[4:], first=5), "first step cannot be compared"),
    ],
)
def test_too_little_to_compare(run: LossLog, said: str) -> None:
    found = align(log(LOSSES), run)
    assert found.verdict is Verdict.INCOMPLETE
    assert said in advice_on(found)[0].what


STEADY = [2.0] * 100


def test_a_run_that_becomes_nan_later_is_not_aligned() -> None:
    losses = [*STEADY[:50], *[math.nan] * 50]
    found = align(log(STEADY), log(losses))
    assert found.verdict is Verdict.DRIFTED
    assert found.lost is not None
    assert found.lost.step == 51
    assert "becomes nan at step 51" in alignment_text(found)
    assert align(log(losses), log(losses)).verdict is Verdict.ALIGNED


def test_a_run_that_drifts_away_later_is_not_aligned() -> None:
    losses = [loss * (1 + max(0, step - 50) / 200) for step, loss in enumerate(STEADY, 1)]
    found = align(log(STEADY), log(losses))
    assert found.verdict is Verdict.DRIFTED
    assert "25 % off" in alignment_text(found)


def test_noise_and_a_part_that_comes_back_are_no_drift() -> None:
    noise = [loss * (1 + 0.02 * (-1) ** step * (step > 10)) for step, loss in enumerate(STEADY, 1)]
    back = [loss * (1.2 if 40 < step < 60 else 1) for step, loss in enumerate(STEADY, 1)]
    for losses in (noise, back):
        assert align(log(STEADY), log(losses)).verdict is Verdict.ALIGNED
