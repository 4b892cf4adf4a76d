# SPDX-License-Identifier: Apache-2.0
"""Until when makers maintain what a target has. Nothing here knows today's date."""

from __future__ import annotations

from collections.abc import Iterator

from cannery.common.bases import PythonSource
from cannery.common.model import Target
from cannery.compat.facts import LIFETIMES, Compat, Lifetime
from cannery.compat.finding import Finding, Subject, Verdict, best_first

UNKNOWN = "unknown"
"""The end of life of what no source names one for."""


def lifetimes_of(target: Target, compat: Compat) -> dict[str, Lifetime | None]:
    """Key of a target (cann, torch_npu, python, base) to what is known of its release, or None.

    An interim build of CANN has the lifetime of the nearest public release.
    """
    cann = target.cann.nearest_public if target.cann.interim else target.cann.version
    wanted = {
        "cann": ("cann", cann),
        "torch_npu": ("torch_npu", target.torch if target.torch_npu else ""),
        "python": ("python", target.python.minor),
        "base": (target.base.distribution.name, target.base.suite),
    }
    return {
        key: next(iter(_rows(compat, component, version)), None)
        for key, (component, version) in wanted.items()
        if version
    }


def end_of_life(lifetime: Lifetime | None) -> str:
    """The day on which maintenance ends, as 2026-08-08, or UNKNOWN."""
    return (lifetime.ends if lifetime else "") or UNKNOWN


def judge_lifetimes(subject: Subject) -> Iterator[Finding]:
    """What sources say of releases and ends of maintenance. Nothing is refused."""
    for key, lifetime in lifetimes_of(subject.target, subject.compat).items():
        if lifetime is None or not (lifetime.ends or lifetime.released):
            continue
        name = f"{LIFETIMES[lifetime.component]} {lifetime.version}"
        if not lifetime.ends:
            text = f"{name} is of {lifetime.released}; no source says until when it is maintained."
        elif key == "python" and subject.target.python.source is PythonSource.BASE:
            text = (
                f"Maintenance of {name} by its makers; the base's distribution maintains its own "
                f"build: until {lifetime.ends}."
            )
        else:
            text = f"Maintenance of {name}: until {lifetime.ends}."
        yield Finding(
            component="maintenance",
            verdict=Verdict.ENDING if lifetime.ends else Verdict.ALLOWED,
            text=text,
            key=key,
            rows=(lifetime,),
        )


def has_ended(finding: Finding, today: str) -> bool:
    """Whether ``finding`` is about a maintenance that ended before the day ``today``."""
    rows = [row for row in finding.rows if isinstance(row, Lifetime)]
    return any(row.ends < today for row in rows if row.ends)


def _rows(compat: Compat, component: str, version: str) -> tuple[Lifetime, ...]:
    return best_first(
        [row for row in compat.lifetimes if (row.component, row.version) == (component, version)]
    )
