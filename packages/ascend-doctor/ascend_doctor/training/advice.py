# SPDX-License-Identifier: Apache-2.0
"""What a comparison of losses hints at, and who says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Iterator

from .align import FEWEST, NORM_PERCENT, Alignment, Pair, Verdict

TEAM = "910B team notes, 2024-11-10"
GUIDE = "MindFormers, guide on precision (mindspore-ai/docs@000074d8, precision_optimization.md)"
TRANSFORMERS = "transformers 5.23, trainer.py and training_args.py"
ISSUE = "hiyouga/LLaMA-Factory#3308"


@dataclass(frozen=True)
class Advice:
    """A conclusion from the losses, what to do about it, and its sources."""

    id: str
    what: str
    do: str
    sources: tuple[str, ...]


_FIRST = Advice(
    id="first-step",
    what="The first loss comes from the forward pass alone. So weights, data, settings or the "
    "structure of the model differ, or an operator is inexact.",
    do="Load the same weights, feed the same batches, set dropout to 0, fix the seeds and compare "
    "the settings. If all of this is equal, compare the outputs of the modules with msprobe.",
    sources=(TEAM, GUIDE),
)
_SECOND = Advice(
    id="second-step",
    what="The forward pass agrees; the first update of the weights does not.",
    do="Compare learning rate, parameters of the optimizer and weight decay. If they are equal, "
    "compare the norm of the gradients at step 1: if it differs, the backward pass does.",
    sources=(GUIDE,),
)
_LATER = Advice(
    id="later-step",
    what="The first steps agree, so weights, data and settings are probably the same.",
    do="Look at the data of the steps around it, and for overflow and jumps of the gradients' "
    "norm; then compare the optimizer's parameters and the types of mixed precision.",
    sources=(GUIDE,),
)
_VERSIONS = Advice(
    id="deepspeed",
    what="With DeepSpeed on 910B, a wrong loss mostly came from the version of DeepSpeed.",
    do="Use DeepSpeed 0.14.3 or 0.15.0. Run on one host with 8 cards: if the loss is wrong there, "
    "versions or environment are; if only several hosts are wrong, synchronize streams.",
    sources=(TEAM,),
)
_NOISE = Advice(
    id="own-noise",
    what="Two runs of the same reference differ as well.",
    do="Run the reference twice; a difference that is no larger than theirs is no error. "
    "HCCL_DETERMINISTIC=true and deterministic algorithms make runs comparable.",
    sources=(GUIDE,),
)
_RATE = "Compare learning rate, warm-up and schedule of both runs."


def advice_on(found: Alignment) -> tuple[Advice, ...]:
    """All that follows from ``found``, the most important first."""
    parted = found.parted
    return (*(_on_parting(parted) if parted else ()), *_on_rest(found))


def _on_parting(pair: Pair) -> Iterator[Advice]:
    if not math.isfinite(pair.reference):
        yield Advice(
            id="reference-not-finite",
            what=f"The reference itself has no finite loss at step {pair.step}.",
            do="Take a reference that trains right.",
            sources=(GUIDE,),
        )
        return
    if not math.isfinite(pair.run):
        yield _not_finite(pair.step)
        return
    yield {1: _FIRST, 2: _SECOND}.get(pair.step, _LATER) if pair.width == 1 else _LATER
    yield _VERSIONS
    yield _NOISE


def _not_finite(step: int) -> Advice:
    return Advice(
        id="not-finite",
        what=f"The loss is inf or NaN at step {step}, or 0 with a norm that is. A value has "
        "overflowed, or was so before: HF Trainer hides such losses in its log.",
        do=f"Dump step {step} and the one before with msprobe; run 'ascend-doctor nan-hunt DUMP'. "
        "In fp16 the first steps may overflow until the loss scale has settled.",
        sources=(TEAM, GUIDE, TRANSFORMERS, ISSUE),
    )


def _on_rest(found: Alignment) -> Iterator[Advice]:
    if found.rate_parts is not None:
        what = f"The learning rates differ from step {found.rate_parts}."
        yield Advice(id="learning-rate", what=what, do=_RATE, sources=(GUIDE,))
    if found.norm_parts is not None and not (found.norm_percent or math.inf) <= NORM_PERCENT:
        yield Advice(
            id="gradient-norm",
            what=f"The norm of the gradients differs by more than {NORM_PERCENT:g} % "
            f"from step {found.norm_parts}.",
            do="Compare the backward pass: dump step 1 of both runs with msprobe.",
            sources=(GUIDE,),
        )
    if found.epochs:
        yield Advice(
            id="epoch",
            what="At the same step the reference is at epoch {:g} and the run at {:g}.".format(
                *found.epochs
            ),
            do="Compare the global batch size, the data and its packing.",
            sources=(GUIDE,),
        )
    if found.verdict is Verdict.INCOMPLETE:
        yield from _on_missing(found)
    if found.verdict is Verdict.ALIGNED:
        yield Advice(
            id="next",
            what="The losses of the first steps agree.",
            do="Train for at least 1,000 steps, then compare the scores on downstream tasks.",
            sources=(TEAM, GUIDE),
        )


def _on_missing(found: Alignment) -> Iterator[Advice]:
    wide = any(loss.width > 1 for log in (found.reference, found.run) for loss in log.losses[:1])
    if not found.pairs:
        ranges = " and ".join(
            f"{log.losses[0].step}-{log.losses[-1].step}" for log in (found.reference, found.run)
        )
        what = f"The logs have no common steps: {ranges}."
    elif not found.has_first:
        what = "The first step cannot be compared by itself."
    else:
        what = f"Only {len(found.pairs)} steps are there in both logs."
    do = f"Log every step and run at least {FEWEST} steps from the start on both machines."
    if wide:
        do += " For HF Trainer, LLaMA-Factory and ms-swift set logging_steps to 1: with more, the "
        do += "log has means only."
    yield Advice(id="incomplete", what=what, do=do, sources=(TEAM, TRANSFORMERS)[: 1 + wide])
