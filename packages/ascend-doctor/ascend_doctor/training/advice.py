# SPDX-License-Identifier: Apache-2.0
"""What a comparison of losses hints at, and who says so; the texts are in advice.ini."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterator

from ascend_doctor.ini import read_ini

from .align import FEWEST, NORM_PERCENT, Alignment, Pair, Verdict

_TABLE = read_ini(__name__, "advice.ini")


@dataclass(frozen=True)
class Advice:
    """A conclusion from the losses, what to do about it, and its sources."""

    id: str
    what: str
    do: str
    sources: tuple[str, ...]


def _advice(name: str, row: str = "", **values: Any) -> Advice:
    """The advice called ``name``, from the section ``row`` if that has another name."""
    found = _TABLE[row or name]
    sources = tuple(_TABLE["sources"][key.strip()] for key in found["source"].split(","))
    return Advice(name, found["what"].format(**values), found["do"].format(**values), sources)


def advice_on(found: Alignment) -> tuple[Advice, ...]:
    """All that follows from ``found``, the most important first."""
    parted = found.parted
    return (*(_on_parting(parted) if parted else ()), *_on_rest(found))


def _on_parting(pair: Pair) -> Iterator[Advice]:
    if not math.isfinite(pair.reference):
        yield _advice("reference-not-finite", step=pair.step)
    elif not math.isfinite(pair.run):
        yield _advice("not-finite", step=pair.step)
    else:
        alone = {1: "first-step", 2: "second-step"} if pair.width == 1 else {}
        yield _advice(alone.get(pair.step, "later-step"))
        yield _advice("deepspeed")
        yield _advice("own-noise")


def _on_rest(found: Alignment) -> Iterator[Advice]:
    if found.rate_parts is not None:
        yield _advice("learning-rate", step=found.rate_parts)
    if found.norm_parts is not None and not (found.norm_percent or math.inf) <= NORM_PERCENT:
        yield _advice("gradient-norm", percent=NORM_PERCENT, step=found.norm_parts)
    if found.epochs:
        yield _advice("epoch", reference=found.epochs[0], run=found.epochs[1])
    if found.verdict is Verdict.INCOMPLETE:
        wide = any(log.losses[0].width > 1 for log in (found.reference, found.run))
        row = "incomplete-means" if wide else "incomplete"
        yield _advice("incomplete", row, missing=_missing(found), fewest=FEWEST)
    if found.verdict is Verdict.ALIGNED:
        yield _advice("next")


def _missing(found: Alignment) -> str:
    if not found.pairs:
        logs = (found.reference.losses, found.run.losses)
        ranges = " and ".join(f"{losses[0].step}-{losses[-1].step}" for losses in logs)
        return f"The logs have no common steps: {ranges}."
    if not found.has_first:
        return "The first step cannot be compared by itself."
    return f"Only {len(found.pairs)} steps are there in both logs."
