# SPDX-License-Identifier: Apache-2.0
"""Compares the losses of a run with those of a reference, step by step.

The way of working is that of a team with 910B cards (notes of 2024-11-10): log every step, run the
first 5 or 10 steps on both machines; the first loss must be the same, the next ones close.

The limits are those of MindFormers' guide on precision ("Accuracy standards for migrated large
models", mindspore-ai/docs@000074d8, precision_optimization.md): the first loss within 0.005 or
0.5 %, the mean within 0.01 or 1 %, the mean of the gradients' norm within 10 %. Here the limit for
the mean holds for every step, which is stricter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterator, Sequence, Tuple

from ascend_doctor.plain_text import TextEnum

from .loss_log import Loss, LossLog

FEWEST = 5
"""How many steps must agree before a run counts as aligned."""
STEPS = 10
PERCENT = 1.0
_ABSOLUTE = 0.01
"""The absolute difference that is allowed beside 1 %; of the first loss, half of both."""
NORM_PERCENT = 10.0
_DRIFT = 5
"""How many losses in a row, and how many times the limit, make a drift after the first steps."""
_RATE = 1e-3
"""Relative difference of learning rates; logs round them to four digits at least."""
_EPOCH = 0.02
"""Relative and absolute difference of epochs, which logs round to two digits."""


class Verdict(TextEnum):
    """What comparing has shown."""

    ALIGNED = "aligned"
    PARTED = "parted"
    DRIFTED = "drifted"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True)
class Pair:
    """What both runs have logged at ``step``, each the mean of the last ``width`` steps."""

    step: int
    width: int
    reference: float
    run: float
    limit: float

    @property
    def difference(self) -> float:
        return abs(self.run - self.reference)

    @property
    def percent(self) -> float:
        """The difference relative to the reference; infinite if that is 0."""
        return _percent(self.reference, self.run)

    @property
    def within(self) -> bool:
        """Whether the losses agree; those that are no numbers do not."""
        return self.difference <= self.limit


@dataclass(frozen=True)
class Alignment:
    """The comparison of a run with its reference.

    Attributes:
        pairs: the first losses that both have, which decide.
        later: those after them, which decide only if the run gets lost there.
        norm_percent: the mean relative difference of the gradients' norm in ``pairs``.
        norm_parts: the first step whose norm differs by more than the limit.
        rate_parts: the first step whose learning rate differs.
        epochs: what both logs have as the epoch of the last of ``pairs``, if that differs.
    """

    reference: LossLog
    run: LossLog
    tolerance: float
    pairs: tuple[Pair, ...]
    later: tuple[Pair, ...]
    norm_percent: float | None
    norm_parts: int | None
    rate_parts: int | None
    epochs: tuple[float, float] | None

    @property
    def parted(self) -> Pair | None:
        """The first of the pairs that do not agree."""
        return next((pair for pair in self.pairs if not pair.within), None)

    @property
    def lost(self) -> Pair | None:
        """The first of the later pairs where the run has no number any more, or drifts away.

        Runs that round differently part slowly; a drift is a mean difference of several losses in
        a row that is several times the limit, up to the last loss.
        """
        for pair in self.later:
            if math.isfinite(pair.reference) and not math.isfinite(pair.run):
                return pair
        gaps = [pair.difference / pair.limit for pair in self.later]
        away = [gap if math.isfinite(gap) else 0.0 for gap in gaps]
        lost = None
        for at in range(len(away) - _DRIFT, -1, -1):
            if math.fsum(away[at : at + _DRIFT]) <= _DRIFT * _DRIFT:
                break
            lost = self.later[at]
        return lost

    @property
    def has_first(self) -> bool:
        """Whether both have the loss of the first step by itself."""
        return bool(self.pairs) and self.pairs[0].step == 1

    @property
    def verdict(self) -> Verdict:
        if self.parted:
            return Verdict.PARTED
        if self.lost:
            return Verdict.DRIFTED
        if self.has_first and len(self.pairs) >= FEWEST:
            return Verdict.ALIGNED
        return Verdict.INCOMPLETE


def align(
    reference: LossLog, run: LossLog, *, steps: int = STEPS, tolerance: float = PERCENT
) -> Alignment:
    """Compare the first ``steps`` losses, which may differ by ``tolerance`` percent."""
    spans = [*_spans(reference.losses, run.losses)]
    pairs = [_pair(*span, tolerance) for span in spans]
    first = spans[:steps]
    norms = [(step, _percent(a, b)) for step, a, b in _both(first, "grad_norm")]
    known = [percent for _, percent in norms if math.isfinite(percent)]
    return Alignment(
        reference=reference,
        run=run,
        tolerance=tolerance,
        pairs=tuple(pairs[:steps]),
        later=tuple(pairs[steps:]),
        norm_percent=math.fsum(known) / len(known) if known else None,
        norm_parts=next((step for step, percent in norms if not percent <= NORM_PERCENT), None),
        rate_parts=_rate_parts([*_both(first, "learning_rate")]),
        epochs=_epochs(first),
    )


_Span = Tuple[Sequence[Loss], Sequence[Loss]]
"""The losses of both runs between two steps that both have."""


def _spans(reference: Sequence[Loss], run: Sequence[Loss]) -> Iterator[_Span]:
    """The losses of both between neighbouring steps at which both have one.

    Of a log with a loss for every step and one for every tenth, ten belong to one.
    """
    common = {loss.step for loss in reference} & {loss.step for loss in run}
    groups = [_groups(each, common) for each in (reference, run)]
    for a, b in zip(*groups):
        begins = [each[0].step - each[0].width for each in (a, b)]
        if begins[0] == begins[1]:
            yield a, b


def _groups(losses: Sequence[Loss], ends: set[int]) -> list[list[Loss]]:
    found: list[list[Loss]] = []
    group: list[Loss] = []
    for loss in losses:
        group.append(loss)
        if loss.step in ends:
            found.append(group)
            group = []
    return found


def _pair(reference: Sequence[Loss], run: Sequence[Loss], tolerance: float) -> Pair:
    step = run[-1].step
    expected = _mean(reference)
    factor = tolerance / PERCENT * (0.5 if step == 1 else 1)
    return Pair(
        step=step,
        width=sum(loss.width for loss in run),
        reference=expected,
        run=_mean(run),
        limit=factor * max(_ABSOLUTE, abs(expected) * PERCENT / 100),
    )


def _mean(losses: Sequence[Loss]) -> float:
    width = sum(loss.width for loss in losses)
    return sum(_loss(loss) * loss.width for loss in losses) / width


def _loss(loss: Loss) -> float:
    """The loss, and NaN where HF Trainer has written 0 for it.

    It leaves out losses that are no numbers unless ``logging_nan_inf_filter`` is off, which shows
    as a loss of 0 beside a norm that is no number (LLaMA-Factory#3308).
    """
    norm = loss.entry.grad_norm
    hidden = loss.entry.loss == 0 and norm is not None and not math.isfinite(norm)
    return math.nan if hidden else loss.entry.loss


def _both(spans: Sequence[_Span], name: str) -> Iterator[tuple[int, float, float]]:
    """Step and both values of ``name``, where each run has logged one alone."""
    for reference, run in spans:
        if len(reference) == len(run) == 1:
            values = [getattr(each[0].entry, name) for each in (reference, run)]
            if None not in values:
                yield run[0].step, values[0], values[1]


def _rate_parts(rates: Sequence[tuple[int, float, float]]) -> int | None:
    """The first step at which the learning rates differ.

    Programs log that of the step or of the next one, as transformers 5 and 4 do; so rates that are
    equal after a shift by one step do not differ.
    """
    for shift in (1, -1):
        ahead, behind = rates[max(shift, 0) :], rates[max(-shift, 0) :]
        pairs = [(a, b) for (_, a, _), (_, _, b) in zip(ahead, behind)]
        if pairs and all(_same_rate(a, b) for a, b in pairs):
            return None
    return next((step for step, a, b in rates if not _same_rate(a, b)), None)


def _same_rate(reference: float, run: float) -> bool:
    return math.isclose(reference, run, rel_tol=_RATE)


def _percent(reference: float, run: float) -> float:
    if reference == run:
        return 0.0
    return 100 * abs(run - reference) / abs(reference) if reference else math.inf


def _epochs(spans: Sequence[_Span]) -> tuple[float, float] | None:
    found = [*_both(spans, "epoch")]
    if not found:
        return None
    _, a, b = found[-1]
    return None if math.isclose(a, b, rel_tol=_EPOCH, abs_tol=_EPOCH) else (a, b)
