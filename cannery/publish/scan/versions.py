# SPDX-License-Identifier: Apache-2.0
"""Whether a version is among those that an advisory calls affected, and which one is fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from debian_inspector.version import Version as DebianVersion
from packaging.version import InvalidVersion, Version

from cannery.publish.scan.advisories import Affected, Range
from cannery.publish.scan.components import PYPI

Order = Callable[[str], Any]
"""Makes a value of a version that can be compared; raises ValueError for one that is none."""

_FIRST = "0"
"""An introduced version that is before every other one."""


def order_of(ecosystem: str) -> Order:
    """How versions of ``ecosystem`` are compared: by PEP 440, or as dpkg does."""
    return _python if ecosystem == PYPI else DebianVersion.from_string


def _python(text: str) -> Version:
    # An advisory about 2.5.1 is also about 2.5.1+cpu, which is newer by PEP 440.
    try:
        return Version(Version(text).public)
    except InvalidVersion as error:
        raise ValueError(text) from error


def is_affected(version: str, affected: Affected) -> bool:
    """Whether ``version`` is affected, by the OSV schema's rules for ranges and lists.

    Raises:
        ValueError: ``version`` cannot be compared.
    """
    order = order_of(affected.ecosystem)
    own = order(version)
    if any(_has(each, own, order) for each in affected.ranges):
        return True
    return version in affected.versions or any(
        _comparable(order, each) == own for each in affected.versions
    )


def fixed_version(version: str, affected: Affected) -> str:
    """The first version after ``version`` that is fixed; empty if the advisory names none.

    Raises:
        ValueError: ``version`` cannot be compared.
    """
    order = order_of(affected.ecosystem)
    own = order(version)
    fixed = [
        (place, text)
        for each in affected.ranges
        if _has(each, own, order)
        for place, kind, text in _places(each, order)
        if kind == "fixed" and place > own
    ]
    return min(fixed)[1] if fixed else ""


def _has(affected: Range, own: Any, order: Order) -> bool:
    found = any(event == ("introduced", _FIRST) for event in affected.events)
    for place, kind, _ in sorted(_places(affected, order), key=lambda each: each[0]):
        if kind == "introduced" and own >= place:
            found = True
        elif (kind == "fixed" and own >= place) or (kind == "last_affected" and own > place):
            found = False
    return found


def _places(affected: Range, order: Order) -> Iterable[tuple[Any, str, str]]:
    """Each event with its version, as one that can be compared, its kind and the version's text."""
    for kind, text in affected.events:
        place = None if (kind, text) == ("introduced", _FIRST) else _comparable(order, text)
        if place is not None:
            yield place, kind, text


def _comparable(order: Order, text: str) -> Any:
    """What can be compared; None for versions from before the rules, which no package has."""
    try:
        return order(text)
    except ValueError:
        return None
