# SPDX-License-Identifier: Apache-2.0
"""The limit of each figure, and what bounds the figure. In the order of bench/README.md. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

PASS_MS = 11
"""Milliseconds that ``python -c pass`` takes on the machine that limits in milliseconds are for."""

LimitOn = Literal["ratio", "value", "scaled"]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a figure may be at most, and in a sentence what bounds it.

    ``on`` says what is limited: the ratio of the two medians, our median, or our median as it would
    be where the reference, which is ``python -c pass``, takes ``PASS_MS``. ``unit`` is that of
    ``at_most``, unless this is a ratio. ``bounded_by`` is empty where the figure before says it.
    """

    bounded_by: str
    at_most: float | None = None
    unit: str = ""
    on: LimitOn = "ratio"

    def measured(self, ours: float, reference: float | None) -> float | None:
        """The number that ``at_most`` limits, from two medians; None without a reference."""
        if self.on == "value":
            return ours
        ratio = ratio_of(ours, reference)
        return ratio * PASS_MS if ratio is not None and self.on == "scaled" else ratio

    def passed(self, ours: float, reference: float | None) -> bool | None:
        """Whether two medians are within the limit; None if there is nothing to compare."""
        measured = self.measured(ours, reference)
        if self.at_most is None or measured is None:
            return None
        return measured <= self.at_most


def ratio_of(ours: float, reference: float | None) -> float | None:
    """The ratio of two medians; None without a reference."""
    return ours / reference if reference else None


_ONE = (
    "apt's and dpkg's own work, the packages' emulated scripts, the download, and the export to "
    "the engine"
)
_CANN = "the bytes of CANN, which are written three times and once more as a layer"
_START = "Python's start; reading matrix.yaml and compat.yaml, and judging each target once"
_PLAN = f"{_START}; then one question to the engine"

LIMITS: dict[str, Limit] = {
    "first-command": Limit(
        bounded_by=(
            "the download of the engine's packages, the bootstrap of two bases, and one cold build "
            "with its tests"
        ),
        at_most=240,
        unit="s",
        on="value",
    ),
    "second-command": Limit(
        bounded_by="the import of torch and torch_npu under emulation",
        at_most=15,
        unit="s",
        on="value",
    ),
    "ci-first": Limit(
        bounded_by="the processors (next figure)",
        at_most=25,
        unit="min",
        on="value",
    ),
    "ci-first-processor": Limit(
        bounded_by=(
            "the sessions with an engine, which build images and import torch in emulated "
            "containers; divided by the number of cores, it is the least that .ci/run can take"
        )
    ),
    "ci-again": Limit(
        bounded_by="the processors (next figure)",
        at_most=15,
        unit="min",
        on="value",
    ),
    "ci-again-processor": Limit(
        bounded_by="the same sessions; most of what they build is in the cache"
    ),
    "cold": Limit(bounded_by=f"the processors (next figure): {_ONE}", at_most=0.10),
    "cold-processor": Limit(
        bounded_by=(
            "the files that are unpacked, compiled, hashed and copied; divided by the number of "
            "cores, it is the least that a cold build can take"
        )
    ),
    "real-cold": Limit(bounded_by=f"{_ONE}; and by {_CANN}", at_most=0.30),
    "real-memory": Limit(bounded_by="BuildKit's copies of files, whatever their size"),
    "real-disk": Limit(bounded_by=f"{_CANN}, and the layers above CANN", at_most=2.2),
    "unchanged": Limit(bounded_by="Python's start, and the comparison of keys", at_most=1.5),
    "unchanged-baseline": Limit(bounded_by="the same, against BuildKit's look at its cache"),
    "moved": Limit(
        bounded_by="the layer of the library, and the export to the engine", at_most=0.10
    ),
    "moved-of-cold": Limit(bounded_by="the same"),
    "second": Limit(bounded_by="the layers that the first target does not have", at_most=0.35),
    "set": Limit(
        bounded_by="the processors (next figure), and the steps that use only one of them",
        at_most=0.20,
    ),
    "set-processor": Limit(
        bounded_by=(
            "the different layers, each built once (their bytes: see below), and the layers above "
            "them, which the engine stores again"
        )
    ),
    "set-bytes": Limit(
        bounded_by="the different layers: torch and CANN of each version", at_most=0.45
    ),
    "set-bytes-engine": Limit(
        bounded_by="overlay2, which stores a layer again for each set of layers below it",
        at_most=0.45,
    ),
    "set-bytes-real": Limit(
        bounded_by="the same; calculated from the layers of the simulated images", at_most=0.45
    ),
    "pulled": Limit(bounded_by="the layers that the first target does not have", at_most=0.01),
    "pushed": Limit(bounded_by="the same, and a manifest"),
    "size": Limit(bounded_by="the locked wheels, CANN and the distribution"),
    "check": Limit(
        bounded_by="reading and judging 100 locks, which the bare loop does not do", at_most=2
    ),
    "growth": Limit(
        bounded_by="what is done once for each target", at_most=1.1, unit="exponent", on="value"
    ),
    "help": Limit(bounded_by="Python's start and argparse", at_most=80, unit="ms", on="scaled"),
    "list": Limit(bounded_by=_START, at_most=600, unit="ms", on="scaled"),
    "explain": Limit(bounded_by=_START, at_most=600, unit="ms", on="scaled"),
    "check-matrix": Limit(bounded_by=_START, at_most=600, unit="ms", on="scaled"),
    "plan": Limit(bounded_by=_PLAN, at_most=600, unit="ms", on="scaled"),
    "plan-all": Limit(bounded_by=_PLAN, at_most=600, unit="ms", on="scaled"),
    "unit": Limit(
        bounded_by="the cores: one worker on each; more of them take longer",
        at_most=60,
        unit="s",
        on="value",
    ),
    "tests": Limit(
        bounded_by=(
            "the cores: importing torch and torch_npu under emulation, once on each kind of "
            "device, and training with DeepSpeed take more than half of the time"
        ),
        at_most=30,
        unit="s",
        on="value",
    ),
}


def _of_scale() -> Iterator[tuple[str, Limit]]:
    for name in ("plan", "shard", "ci", "catalog", "prune"):
        once = "the manifest of each tag" if name == "prune" else "what is done for each target"
        yield f"scale-{name}", Limit(bounded_by=f"{once}: time, memory and their growth")
        yield f"scale-{name}-memory", Limit(bounded_by="")
        for key in (f"scale-{name}-growth", f"scale-{name}-memory-growth"):
            yield key, Limit(bounded_by="", at_most=1.1, unit="exponent", on="value")


LIMITS |= dict(_of_scale())
