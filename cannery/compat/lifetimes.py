# SPDX-License-Identifier: Apache-2.0
"""Until when makers maintain what a target has. Nothing here knows today's date."""

from __future__ import annotations

from collections.abc import Iterator

from cannery.compat.facts import Compat, Lifetime
from cannery.compat.finding import Finding, Subject, Verdict, best_first
from cannery.model import Target

UNKNOWN = "unknown"
"""The end of life of what no source names one for."""


def lifetimes_of(target: Target, compat: Compat) -> dict[str, Lifetime | None]:
    """Component (cann, torch_npu) to what is known of its release; None where nothing is.

    An interim build of CANN has the lifetime of the nearest public release.
    """
    cann = target.cann.nearest_public if target.cann.interim else target.cann.version
    wanted = {"cann": cann, "torch_npu": target.torch if target.torch_npu else ""}
    return {
        component: next(iter(_rows(compat, component, version)), None)
        for component, version in wanted.items()
        if version
    }


def end_of_life(lifetime: Lifetime | None) -> str:
    """The day on which maintenance ends, as 2026-08-08, or UNKNOWN."""
    return (lifetime.ends if lifetime else "") or UNKNOWN


def judge_lifetimes(subject: Subject) -> Iterator[Finding]:
    """The ends of maintenance that sources name. Nothing is refused."""
    for component, lifetime in lifetimes_of(subject.target, subject.compat).items():
        if lifetime and lifetime.ends:
            name = "CANN" if component == "cann" else "torch_npu for torch"
            yield Finding(
                component="maintenance",
                verdict=Verdict.ENDING,
                text=f"Maintenance of {name} {lifetime.version}: until {lifetime.ends}.",
                key=component,
                rows=(lifetime,),
            )


def _rows(compat: Compat, component: str, version: str) -> tuple[Lifetime, ...]:
    return best_first(
        [row for row in compat.lifetimes if (row.component, row.version) == (component, version)]
    )
