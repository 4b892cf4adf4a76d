# SPDX-License-Identifier: Apache-2.0
"""The facets (rows of choices) of the page, the order of their values, and orders of images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from packaging.version import InvalidVersion, Version

from cannery.catalog.entries import Entry
from cannery.common.cann_version import CannVersion
from cannery.common.model import Flavour, Target

NONE = "none"
"""The value of targets that have no such component."""

FACETS = ("use", "application", "chip", "platform", "cann", "torch", "python")
"""The rows that are always shown."""

MORE = ("system", "flavour", "verified", "published")
"""The rows that are shown on demand."""

_USES = {"opencompass": "evaluate", "sglang": "serve", "vllm": "serve"}
"""What applications are for, if not for training."""

_VERSIONS = ("cann", "torch", "python")


def facets(entry: Entry) -> dict[str, str]:
    """Facet to the value of ``entry``; Python by its minor version, applications by name."""
    target = entry.target
    return {
        "use": _use(target),
        "application": target.application.component if target.application else NONE,
        "chip": target.chip,
        "platform": target.platform,
        "cann": target.cann.version,
        "torch": target.torch or NONE,
        "python": target.python.minor,
        "system": target.base.name,
        "flavour": target.flavour,
        "verified": _verified(entry),
        "published": "yes" if entry.record else "no",
    }


def _use(target: Target) -> str:
    if target.application:
        return _USES.get(target.application.component, "train")
    return "serve" if target.flavour is Flavour.RUNTIME else "train"


def _verified(entry: Entry) -> str:
    """The best device on which all checks passed, or ``failed``, or ``nothing``."""
    verdicts = entry.verdicts
    if any(each.tested.failed for each in verdicts):
        return "failed"
    return str(max(verdicts, key=lambda each: each.rank).tested.device) if verdicts else "nothing"


def choices(entries: Iterable[Entry]) -> dict[str, list[str]]:
    """Facet to its values: the newest version first, of others the one that most images have."""
    own = [facets(entry) for entry in entries]
    found = {}
    for facet in (*FACETS, *MORE):
        counts = Counter(each[facet] for each in own)
        newest = facet in _VERSIONS
        order = {v: age(facet, v) if newest else (-count,) for v, count in counts.items()}
        found[facet] = sorted(counts, key=lambda value: (order[value], value))
    return found


def age(facet: str, value: str) -> tuple[int, ...]:
    """The sort key of a version: from the newest to the oldest, then what is no version."""
    try:
        if facet == "cann":
            return (0, *(-number for number in CannVersion.parse(value).key))
        return (0, *(-number for number in Version(value).release))
    except (ValueError, InvalidVersion):
        # A matrix without compat.yaml may have any name for its CANN.
        return (1,)


def best_first(entries: Iterable[Entry]) -> list[Entry]:
    """``entries``: the recommended ones, then the verified ones, and of those the newest first."""
    return sorted(entries, key=_place)


def _place(entry: Entry) -> tuple[object, ...]:
    if entry.target.recommended:
        return (False,)
    own = facets(entry)
    return (
        True,
        own["verified"] in ("failed", "nothing"),
        *(age(name, own[name]) for name in _VERSIONS),
    )
