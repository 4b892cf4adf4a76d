# SPDX-License-Identifier: Apache-2.0
"""The limit of each figure, and what bounds the figure. In the order of bench/README.md. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LimitOn = Literal["ratio", "value"]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a figure may be at most, and in a sentence what bounds it.

    ``on`` says what is limited: the ratio of the two medians, or our median. ``unit`` is that of
    ``at_most``, unless this is a ratio.
    """

    bounded_by: str
    at_most: float | None = None
    unit: str = ""
    on: LimitOn = "ratio"

    def measured(self, ours: float, reference: float | None) -> float | None:
        """The number that ``at_most`` limits, from two medians; None without a reference."""
        return ours if self.on == "value" else ratio_of(ours, reference)

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


def _value(at_most: float, unit: str, bounded_by: str) -> Limit:
    return Limit(bounded_by=bounded_by, at_most=at_most, unit=unit, on="value")


LIMITS: dict[str, Limit] = {
    "first-command": _value(
        120,
        "s",
        "the download of the engine's packages, stand-ins for two bases, and one cold build with "
        "its tests",
    ),
    "second-command": _value(15, "s", "the import of torch and torch_npu under emulation"),
    "tests-first": _value(
        12,
        "min",
        "the processors: one cold build with its tests, and unit, policy and doctor",
    ),
    "tests-again": _value(6, "min", "the processors: unit, policy, doctor and campaign-quick"),
    "ci-first": _value(
        20,
        "min",
        "the processors: the same, and the tests with an engine, which build images and import "
        "torch in emulated containers",
    ),
    "ci-again": _value(12, "min", "the same sessions; most of what they build is in the cache"),
    "cold": Limit(bounded_by=f"the processors (next figure): {_ONE}", at_most=0.12),
    "cold-processor": _value(
        65,
        "s",
        "a third is the engine's own, which copies, hashes and exports the files of each step; a "
        "quarter the wheels, unpacked and compiled; a fifth the system's packages; divided by the "
        "number of cores, it is the least that a cold build can take",
    ),
    "real-cold": Limit(bounded_by=f"{_ONE}; and by {_CANN}", at_most=0.30),
    "moved": Limit(
        bounded_by="the layer of the library, and the export to the engine", at_most=0.10
    ),
    "set": Limit(
        bounded_by="the processors, and the steps that use only one of them", at_most=0.25
    ),
    "set-bytes": Limit(
        bounded_by="the different layers: torch and CANN of each version", at_most=0.45
    ),
    **{
        f"forty-{name}": _value(
            1, "s", f"Python's start; reading matrix.yaml and compat.yaml, and {work}"
        )
        for name, work in (
            ("list", "judging each target once"),
            ("check", "judging each target once"),
            ("render", "rendering each Dockerfile"),
        )
    },
    "tests": _value(25, "s", "the processors (next figure)"),
    "tests-processor": _value(
        50,
        "s",
        "half is importing torch and torch_npu under emulation, once on each kind of device; pip "
        "comes next",
    ),
}
