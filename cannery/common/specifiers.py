# SPDX-License-Identifier: Apache-2.0
"""Version specifiers and requirements: overlap and inclusion, markers, names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from cannery.common.model import Target

_NO_TEXT = "'===' compares texts, and versions are meant; write '=='"


@cache
def overlap(first: SpecifierSet, second: SpecifierSet) -> bool:
    """Whether some version, which may be a pre-release, satisfies both."""
    return not first.is_disjoint(second)


@cache
def exceeds(wanted: SpecifierSet, bound: SpecifierSet) -> bool:
    """Whether some version satisfies ``wanted`` and not ``bound``."""
    return not wanted.is_subset(bound)


def parse_requirements(texts: Iterable[str]) -> Sequence[Requirement]:
    """``texts`` as requirements."""
    return [parse_requirement(text) for text in texts]


@cache
def parse_requirement(text: str) -> Requirement:
    """``text`` as a requirement without ``===``, whose marker can be evaluated, if it has one.

    Raises:
        InvalidRequirement: it is none.
    """
    requirement = Requirement(text)
    try:
        if requirement.marker:
            requirement.marker.evaluate({"extra": ""})
    except (UndefinedComparison, UndefinedEnvironmentName, InvalidVersion) as error:
        what = f"the marker '{requirement.marker}' compares nothing: {error}"
        raise InvalidRequirement(what) from error
    if _compares_text(requirement.specifier):
        raise InvalidRequirement(_NO_TEXT)
    return requirement


@cache
def admits(text: str, version: str) -> bool:
    """Whether the requirement ``text`` admits ``version``, which may be a pre-release."""
    return parse_requirement(text).specifier.contains(version, prereleases=True)


def specifiers(text: str) -> SpecifierSet:
    """``text`` as bounds without ``===``; InvalidSpecifier if it is none."""
    bounds = SpecifierSet(text)
    if _compares_text(bounds):
        raise InvalidSpecifier(_NO_TEXT)
    return bounds


def _compares_text(bounds: SpecifierSet) -> bool:
    return any(specifier.operator == "===" for specifier in bounds)


@cache
def normal_name(package: str) -> str:
    """The normalized name of a package (PEP 503)."""
    return canonicalize_name(package)


def applies(requirement: Requirement, target: Target) -> bool:
    """Whether ``requirement`` has no marker, or one that holds in the image of ``target``."""
    if requirement.marker is None:
        return True
    # All names that there are, because those left out would be of this machine.
    return requirement.marker.evaluate(
        {
            "python_version": target.python.minor,
            "python_full_version": target.python.version,
            "implementation_name": "cpython",
            "implementation_version": target.python.version,
            "platform_python_implementation": "CPython",
            "os_name": "posix",
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": target.machine,
            "platform_release": "",
            "platform_version": "",
            "extra": "",
        }
    )
