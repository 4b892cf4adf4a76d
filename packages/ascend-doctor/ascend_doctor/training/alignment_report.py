# SPDX-License-Identifier: Apache-2.0
"""The comparison of two training runs as text and as JSON."""

from __future__ import annotations

import json
import math
from typing import Any, Iterator, Sequence

from ascend_doctor.plain_text import columns, printable

from .advice import Advice, advice_on
from .align import Alignment, Pair, Verdict
from .curves import Curve, to_text
from .loss_log import LossLog


def alignment_text(found: Alignment) -> str:
    """The verdict, the losses that decide, both curves, and what follows."""
    lines = [_head(found), ""]
    for role, log in (("reference", found.reference), ("run", found.run)):
        losses = f"{len(log.losses):,} losses, steps {log.losses[0].step}-{log.losses[-1].step}"
        lines.append(f"  {role + ':':11}{log.path} ({log.form}, {losses})")
        lines += [f"    {note}" for note in log.notes]
    if found.pairs:
        lines += ["", *(f"  {line}" for line in columns([*_table(found)], right=range(5)))]
        lines += ["", *_drawn(found)]
    lines += [line for each in advice_on(found) for line in _advice(each)]
    return printable("\n".join(lines)) + "\n"


def alignment_json(found: Alignment) -> str:
    """All of it for programs; docs/training-checks.md has the fields."""
    parted = found.parted or found.lost
    document = {
        "schema": 1,
        "verdict": str(found.verdict),
        "parted_at": parted.step if parted else None,
        "tolerance_percent": found.tolerance,
        "reference": _log(found.reference),
        "run": _log(found.run),
        "compared": [_pair(pair) for pair in found.pairs],
        "later": _later(found.later),
        "gradient_norm_percent": _number(found.norm_percent),
        "advice": [
            {"id": each.id, "what": each.what, "do": each.do, "sources": [*each.sources]}
            for each in advice_on(found)
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _head(found: Alignment) -> str:
    name = found.run.path.name
    parted = found.parted
    if parted:
        return (
            f"{name} parts from the reference at step {parted.step}: "
            f"loss {parted.run:.6g}, reference {parted.reference:.6g}"
        )
    lost = found.lost
    if lost and not math.isfinite(lost.run):
        return f"{name} becomes {lost.run} at step {lost.step}: reference {lost.reference:.6g}"
    if lost:
        last = found.later[-1]
        return (
            f"{name} drifts away from the reference from step {lost.step} on: loss {last.run:.6g} "
            f"at step {last.step}, reference {last.reference:.6g} ({last.percent:.2g} % off)"
        )
    if found.verdict is Verdict.ALIGNED:
        return f"{name} is aligned: its first {len(found.pairs)} losses agree with the reference"
    return f"{name} cannot be judged: too few losses to compare"


def _table(found: Alignment) -> Iterator[Sequence[str]]:
    yield ("step", "reference", "run", "difference", "limit", "")
    for pair in found.pairs:
        steps = str(pair.step) if pair.width == 1 else f"{pair.step - pair.width + 1}-{pair.step}"
        yield (
            steps,
            f"{pair.reference:.6g}",
            f"{pair.run:.6g}",
            f"{pair.difference:.4g} ({pair.percent:.2g} %)",
            f"{pair.limit:.4g}",
            "" if pair.within else "differs",
        )


def _drawn(found: Alignment) -> Iterator[str]:
    yield from to_text(_curves(found))
    if found.later:
        later = _later(found.later)
        beyond = later["first_beyond"]
        says = (
            "all within the limit" if beyond is None else f"the first beyond the limit at {beyond}"
        )
        yield ""
        yield (
            f"  {later['steps']:,} later losses: mean difference {later['mean_percent']} %, {says}"
        )


def _advice(advice: Advice) -> list[str]:
    sources = [f"    source: {source}" for source in advice.sources]
    return ["", f"  {advice.what}", f"    {advice.do}", *sources]


def _curves(found: Alignment) -> list[Curve]:
    return [
        Curve(name=name, points=[(loss.step, loss.entry.loss) for loss in log.losses])
        for name, log in (("reference", found.reference), ("run", found.run))
    ]


def _log(log: LossLog) -> dict[str, Any]:
    return {
        "path": str(log.path),
        "format": log.form,
        "losses": len(log.losses),
        "first_step": log.losses[0].step,
        "last_step": log.losses[-1].step,
        "steps_logged": log.numbered,
        "notes": [*log.notes],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    values = {
        name: _number(getattr(pair, name))
        for name in ("reference", "run", "difference", "percent", "limit")
    }
    return {"step": pair.step, "steps": pair.width, **values, "within": pair.within}


def _later(pairs: Sequence[Pair]) -> dict[str, Any]:
    known = [pair.percent for pair in pairs if math.isfinite(pair.percent)]
    return {
        "steps": len(pairs),
        "mean_percent": float(f"{math.fsum(known) / len(known):.3g}") if known else None,
        "first_beyond": next((pair.step for pair in pairs if not pair.within), None),
    }


def _number(value: float | None) -> float | str | None:
    """``value``, or its name if JSON has none: nan, inf or -inf."""
    return value if value is None or math.isfinite(value) else str(value)
