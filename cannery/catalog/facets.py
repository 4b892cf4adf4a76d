# SPDX-License-Identifier: Apache-2.0
"""By what people choose an image, and in which order the choices are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.version import InvalidVersion, Version

from cannery.model import Target
from cannery.syntax.cann_version import CannVersion

NONE = "none"
"""The choice of those that have nothing of the kind."""

FACETS = ("python", "torch", "cann", "chip", "application")


def facets(target: Target) -> dict[str, str]:
    """What ``target`` is found under; Python by its minor, an application whatever its version."""
    return {
        "python": target.python.minor,
        "torch": target.torch or NONE,
        "cann": target.cann.version,
        "chip": target.chip,
        "application": target.application.component if target.application else NONE,
    }


def choices(targets: Iterable[Target]) -> dict[str, tuple[str, ...]]:
    """What there is to choose from: the newest first, names by the alphabet, ``NONE`` last."""
    found: dict[str, set[str]] = {name: set() for name in FACETS}
    for target in targets:
        for name, value in facets(target).items():
            found[name].add(value)
    return {
        name: tuple(sorted(values, key=lambda value: (age(name, value), value)))
        for name, values in found.items()
    }


def age(facet: str, value: str) -> tuple[int, ...]:
    """What sorts the values of a facet: versions from the newest on, then what is none."""
    try:
        if facet == "cann":
            return (0, *(-number for number in CannVersion.parse(value).key))
        if facet in ("python", "torch"):
            return (0, *(-number for number in Version(value).release))
    except (ValueError, InvalidVersion):
        # A matrix that stands alone may call its CANN as it likes.
        return (1,)
    return (int(value == NONE),)


def places(targets: Iterable[Target]) -> Mapping[str, dict[str, int]]:
    """Facet to target id to its place when the newest comes first."""
    every = list(targets)
    return {
        name: {
            target.id: sum(age(name, facets(other)[name]) < own for other in every)
            for target in every
            for own in [age(name, facets(target)[name])]
        }
        for name in ("torch", "cann")
    }
