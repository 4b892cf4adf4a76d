# SPDX-License-Identifier: Apache-2.0
"""Who asks for a package, and where in matrix.yaml."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.requirements import Requirement

from cannery.common.model import HCCL_TEST, Target, requirement_of
from cannery.common.specifiers import applies, normal_name, parse_requirement, parse_requirements
from cannery.compat.finding import Place


@dataclass(frozen=True, kw_only=True)
class Requested:
    """A requirement, the target's key that it comes from, and where a shared one is written."""

    requirement: Requirement
    key: str
    place: Place

    def __str__(self) -> str:
        return f"'{self.requirement}'"


def requested_of(target: Target, name: str) -> list[Requested]:
    """Every requirement on the package ``name``: the target's own, its application's, CANN's.

    Overrides of the application replace them all, and those for other Pythons remove them. The
    version of a component is a requirement, too, and so are the HCCL tests.
    """
    found = [
        Requested(requirement=each, key=component, place=())
        for component, version in target.extras.items()
        if (each := parse_requirement(requirement_of(component, version))).name == name
    ]
    if (replaced := _overrides(target, name)) is not None:
        # No override concerns what is a file.
        is_file = name == "triton-ascend" and target.triton_ascend_wheel
        return [*found, *replaced] if is_file else replaced
    if target.hccl_test and normal_name(HCCL_TEST) == name:
        found.append(Requested(requirement=Requirement(name), key=HCCL_TEST, place=()))
    application = target.application
    shared = len(application.requirements) if application else 0
    for number, each in enumerate(parse_requirements(target.requirements)):
        if normal_name(each.name) == name and applies(each, target):
            place: Place = ()
            if application and number < shared:
                place = ("applications", application.name, "requirements", number)
            found.append(Requested(requirement=each, key="requirements", place=place))
    for number, each in enumerate(parse_requirements(target.cann.requirements)):
        if normal_name(each.name) == name and applies(each, target):
            place = ("cann", target.cann.version, "requirements", number)
            found.append(Requested(requirement=each, key="cann", place=place))
    return found


def _overrides(target: Target, name: str) -> list[Requested] | None:
    """The overrides of ``name`` that hold for the target's Python; None where there is none."""
    application = target.application
    if application is None:
        return None
    parsed = enumerate(parse_requirements(application.overrides))
    about = [(number, each) for number, each in parsed if normal_name(each.name) == name]
    found = [
        Requested(
            requirement=each,
            key="application",
            place=("applications", application.name, "overrides", number),
        )
        for number, each in about
        if applies(each, target)
    ]
    return found if about else None
