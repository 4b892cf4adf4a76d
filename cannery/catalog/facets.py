# SPDX-License-Identifier: Apache-2.0
"""The facets (filters) of the page, and the order of their values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from packaging.version import InvalidVersion, Version

from cannery.common.cann_version import CannVersion
from cannery.common.model import Target

NONE = "none"
"""The value of targets that have no such component."""

FACETS = ("python", "torch", "cann", "chip", "application", "flavour")


def facets(target: Target) -> dict[str, str]:
    """Facet to the value of ``target``; Python by its minor version, applications by name."""
    return {
        "python": target.python.minor,
        "torch": target.torch or NONE,
        "cann": target.cann.version,
        "chip": target.chip,
        "application": target.application.component if target.application else NONE,
        "flavour": target.flavour,
    }


def choices(targets: Iterable[Target]) -> dict[str, tuple[str, ...]]:
    """Facet to its values: the newest version first, names in alphabetical order, ``NONE`` last."""
    found: dict[str, set[str]] = {name: set() for name in FACETS}
    for target in targets:
        for name, value in facets(target).items():
            found[name].add(value)
    return {
        name: tuple(sorted(values, key=lambda value: (age(name, value), value)))
        for name, values in found.items()
    }


def age(facet: str, value: str) -> tuple[int, ...]:
    """The sort key of a value: versions from the newest to the oldest, then other values."""
    try:
        if facet == "cann":
            return (0, *(-number for number in CannVersion.parse(value).key))
        if facet in ("python", "torch"):
            return (0, *(-number for number in Version(value).release))
    except (ValueError, InvalidVersion):
        # A matrix without compat.yaml may have any name for its CANN.
        return (1,)
    return (int(value == NONE),)


def places(targets: Iterable[Target]) -> Mapping[str, dict[str, int]]:
    """Facet to target id to its position when the newest version is first."""
    every = {target.id: facets(target) for target in targets}
    found = {}
    for name in ("torch", "cann"):
        ages = {id_: age(name, own[name]) for id_, own in every.items()}
        ordered = sorted(ages.values())
        found[name] = {id_: bisect_left(ordered, own) for id_, own in ages.items()}
    return found
