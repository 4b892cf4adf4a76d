# SPDX-License-Identifier: Apache-2.0
"""The versions that later installs into an image must keep: its constraints for pip and uv."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from cannery.common.model import EXTRAS, Target
from cannery.common.specifiers import applies, normal_name, parse_requirements
from cannery.lock.requirements import SETUPTOOLS, overrides

_SETUPTOOLS = SETUPTOOLS.removeprefix("setuptools")


@dataclass(frozen=True, kw_only=True)
class Pin:
    """A version that a later ``pip install`` must not change.

    ``requirement`` is as in ``torch==2.3.1`` or ``setuptools<81``. ``reason`` is a comment in
    constraints.txt.
    """

    name: str
    requirement: str
    reason: str


def pins_of(target: Target, installed: Mapping[str, str]) -> list[Pin]:
    """The pins of ``target``, whose packages have the versions ``installed``.

    These are all versions that matrix.yaml specifies; compat.yaml requires that it specifies each
    version on which a component depends.
    """
    vendor = {normal_name(name): wheel.version for name, wheel in target.vendor_wheels.items()}
    versions = {**installed, **vendor}
    pins: dict[str, Pin] = {}

    def pin(name: str, reason: str, bounds: str = "") -> None:
        name = normal_name(name)
        if name in versions:
            new = Pin(
                name=name, requirement=name + (bounds or f"=={versions[name]}"), reason=reason
            )
            pins[name] = _both(pins[name], new, versions[name]) if name in pins else new

    pin("torch", f"torch_npu {target.torch_npu} is compiled for it")
    pin("torch-npu", f"it works with torch {target.torch} and CANN {target.cann.version}")
    pin("mindspore", f"it works with CANN {target.cann.version}")
    pin("numpy", "compiled packages of this image were built for it")
    pin("apex", "packages of this name in package indexes are other projects")
    for name in ("deepspeed", *(EXTRAS[component] for component in target.extras)):
        pin(name, "the image was tested with it")
    for wheel in target.built_wheels.values():
        pin(wheel.package, "it was built for this image from its sdist")
    for requirement in parse_requirements(target.cann.requirements):
        if requirement.specifier and applies(requirement, target):
            pin(requirement.name, f"CANN {target.cann.version} needs {requirement}")
    if target.torch_npu:
        pin("setuptools", "torch_npu imports pkg_resources, which was removed in 82", _SETUPTOOLS)
    for requirement in parse_requirements(target.requirements):
        if requirement.specifier and applies(requirement, target):
            named = target.application
            by = f"{named.component} {named.version} was" if named else "the image was"
            specified = _range(requirement, overrides(target))
            pin(requirement.name, f"{by} tested with it", specified)
    return [*pins.values()]


def _both(old: Pin, new: Pin, version: str) -> Pin:
    # A bound adds nothing to the exact version.
    exact = f"{old.name}=={version}"
    bounds = SpecifierSet(old.requirement.removeprefix(old.name))
    added = SpecifierSet(new.requirement.removeprefix(old.name))
    if old.requirement == exact or {*added} <= {*bounds}:
        return old
    both = exact if new.requirement == exact else f"{old.name}{bounds & added}"
    reason = old.reason if new.reason == old.reason else f"{old.reason}; {new.reason}"
    return Pin(name=old.name, requirement=both, reason=reason)


def _range(requirement: Requirement, override: tuple[str, ...]) -> str:
    """The range in matrix.yaml; empty, for the locked version, if an override replaces it."""
    names = {normal_name(each.name) for each in parse_requirements(override)}
    if requirement.extras or normal_name(requirement.name) in names:
        return ""
    return str(requirement.specifier)
