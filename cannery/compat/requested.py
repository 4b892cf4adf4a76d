# SPDX-License-Identifier: Apache-2.0
"""The packages that a target asks for, and who asks: the target, its application, or CANN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packaging.requirements import Requirement

from cannery.common.model import HCCL_TEST, Target, requirement_of
from cannery.common.specifiers import applies, normal_name, parse_requirement

Place = tuple[str | int, ...]
"""Keys, and numbers of list items, from the top of matrix.yaml down to a value."""


@dataclass(frozen=True, kw_only=True)
class Requested:
    """A requirement, the target's key that it comes from, and where a shared one is written.

    ``is_own`` is of one that the target itself names.
    """

    requirement: Requirement
    key: str
    place: Place = ()
    is_own: bool = False

    def __str__(self) -> str:
        return f"'{self.requirement}'"


def requested(target: Target) -> Mapping[str, Sequence[Requested]]:
    """Package to the requirements on it: the target's own, its application's, CANN's.

    Overrides of the application replace those that are shared, and those for other Pythons remove
    them; what the target itself names stays. The version of a component is a requirement, too, and
    so are the HCCL tests.
    """
    asked: dict[str, list[Requested]] = {}

    def add(text: str, key: str, place: Place = (), *, is_own: bool = False) -> None:
        requirement = parse_requirement(text)
        if applies(requirement, target):
            new = Requested(requirement=requirement, key=key, place=place, is_own=is_own)
            asked.setdefault(normal_name(requirement.name), []).append(new)

    for component, version in target.extras.items():
        add(requirement_of(component, version), component, is_own=True)
    if target.hccl_test:
        add(normal_name(HCCL_TEST), HCCL_TEST)
    application = target.application
    shared = len(application.requirements) if application else 0
    for number, text in enumerate(target.requirements):
        place: Place = ()
        if application and number < shared:
            place = ("applications", application.name, "requirements", number)
        add(text, "requirements", place, is_own=number >= shared)
    for number, text in enumerate(target.cann.requirements):
        add(text, "cann", ("cann", target.cann.version, "requirements", number))
    overrides = application.overrides if application else ()
    for name in {normal_name(parse_requirement(text).name) for text in overrides}:
        asked[name] = [each for each in asked.get(name, ()) if each.is_own]
    for number, text in enumerate(overrides):
        assert application
        add(text, "application", ("applications", application.name, "overrides", number))
    return asked
