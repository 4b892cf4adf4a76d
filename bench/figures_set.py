# SPDX-License-Identifier: Apache-2.0
"""Figure (e): all targets that can be built here, one after the other on one engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from bench import storage
from bench.figures_build import Plan
from bench.result import Figure, Series
from bench.session import Session
from bench.storage import Layer
from bench.timing import Timed
from cannery.common import console
from cannery.common.errors import EngineError, UsageError
from cannery.common.model import Target

SAMPLE = 8
"""The number of cold builds, from which the sum of all cold builds is estimated."""

_ROOM = 40 * 10**9
"""Disk space that the layers and the build cache of all targets take, in bytes."""


def all_targets(session: Session, plan: Plan) -> list[Figure]:
    """(e) Targets that can be built here, against as many cold builds, and their bytes.

    An image is removed when its layers were measured.
    """
    session.engine.require_room(_ROOM, "building all targets")
    targets = _buildable(session, plan.all)
    alone: dict[str, Timed] = {}
    after: dict[str, Timed] = {}
    for number, target in enumerate(sample := spread(targets, SAMPLE), start=1):
        alone[target.id] = done = session.ours_cold(target)
        console.say(f"alone, {number} of {len(sample)}: {target.id}: {done.seconds:.1f} s")
    session.cool()
    images = {}
    for number, target in enumerate(targets, start=1):
        after[target.id] = done = session.ours(target)
        name = session.ours_name(target)
        images[target.id] = storage.layers(name)
        session.engine.remove(name)
        console.say(f"{number} of {len(targets)}: {target.id}: {done.seconds:.1f} s")
    return [
        _time(len(plan.all), after, alone, session.failed),
        _distinct(images),
    ]


def spread(targets: Sequence[Target], count: int) -> list[Target]:
    """``count`` of ``targets`` at equal distances, or all if there are fewer."""
    count = min(count, len(targets))
    return [targets[number * len(targets) // count] for number in range(count)]


def _buildable(session: Session, targets: Sequence[Target]) -> list[Target]:
    """Those of which the base can be had here, and whose chip can be simulated.

    Raises:
        EngineError: there is none.
    """
    found = []
    for target in targets:
        try:
            session.prepare([target])
        except (EngineError, UsageError) as error:
            console.say(f"{target.id} is left out: {error}")
        else:
            found.append(target)
    if not found:
        raise EngineError("no target can be built here, so there is nothing to compare.")
    return found


def _time(
    everything: int,
    after: Mapping[str, Timed],
    alone: Mapping[str, Timed],
    failed_builds: int,
) -> Figure:
    """The duration, with the processor time beside it."""
    what = "the sum of their cold builds"
    if len(alone) < len(after):
        what = f"{len(after)} x the mean of {len(alone)} cold builds"

    def summed(measured: Callable[[Timed], float]) -> tuple[float, float]:
        mean = fmean(map(measured, alone.values()))
        return sum(map(measured, after.values())), mean * len(after)

    one_by_one, cold = summed(lambda run: run.seconds)
    processor, cold_processor = summed(lambda run: run.processor)
    return Figure(
        key="set",
        title=f"{len(after)} of {everything} targets, one after the other, against {what}",
        unit="s",
        ours=Series(what="on one engine, empty at the start", samples=(one_by_one,)),
        reference=Series(what="each on an empty engine", samples=(cold,)),
        detail={
            "seconds_alone": {name: run.seconds for name, run in alone.items()},
            "seconds": {name: run.seconds for name, run in after.items()},
            "failed_builds": failed_builds,
            "processor_seconds": round(processor),
            "processor_seconds_alone": round(cold_processor),
        },
    )


def _distinct(images: Mapping[str, Sequence[Layer]]) -> Figure:
    sizes = {name: sum(layer.size for layer in each) for name, each in images.items()}
    return Figure(
        key="set-bytes",
        title="their distinct layers, against the sum of the image sizes",
        unit="bytes",
        ours=Series(what="distinct layers", samples=(storage.distinct(images.values()),)),
        reference=Series(what="sum of the image sizes", samples=(storage.total(images.values()),)),
        detail={"bytes": sizes},
    )
