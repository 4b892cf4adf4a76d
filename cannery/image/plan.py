# SPDX-License-Identifier: Apache-2.0
"""All that follows from a target and its lock, computed once.

The Dockerfile, target.json, content keys, bills of materials and the catalogue read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from cannery.common.errors import MatrixError, Problem
from cannery.common.model import EXTRAS, Target
from cannery.common.specifiers import applies, normal_name, parse_requirements
from cannery.image.environment import Environment, PythonPaths, environment_of, python_paths
from cannery.image.layers import Layer, layers_of
from cannery.lock.lock_file import Lock, check_lock, read_lock
from cannery.lock.requirements import SETUPTOOLS, Requirements
from cannery.matrix.project import Project

NAMESPACE = "io.cannery"
"""The prefix of the labels with the contents of an image."""

SIMULATED_LABEL = f"{NAMESPACE}.simulated"
"""The label that is ``true`` for simulated images, and ``false`` for others built by build.py."""

SIMULATED_ARGUMENT = "SIMULATED"
"""The build argument without which no Dockerfile takes stand-ins, and with which it needs them."""

SIMULATED_ENVIRONMENT = {"CANNERY_SIMULATED": "1"}
"""Added to the environment of a simulated image."""

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


@dataclass(frozen=True, kw_only=True)
class ImagePlan:
    """The image of ``target`` with the wheels of ``lock``.

    ``labels`` are those of a real image, and ``simulated_labels`` those that differ in a simulated
    one. ``installed`` maps packages to their versions, and ``local_versions`` those of them that
    are built, which may have a local version.
    """

    target: Target
    lock: Lock
    requirements: Requirements
    python: PythonPaths
    environment: Environment
    layers: tuple[Layer, ...]
    labels: Mapping[str, str]
    simulated_labels: Mapping[str, str]
    installed: Mapping[str, str]
    local_versions: Mapping[str, str]
    pins: tuple[Pin, ...]

    @property
    def committed_record(self) -> dict[str, Any]:
        """The content of images/ID/target.json.

        The program describe-image makes constraints.txt and the image's target.json from it.
        """
        wheels = {layer.name: layer.wheels for layer in self.layers if layer.wheels}
        return {
            **self._facts(),
            "layers": {name: " ".join(w.name for w in group) for name, group in wheels.items()},
            "local_versions": self.local_versions,
            "vendor_wheels": self._vendor_versions(),
            "held": {pin.requirement: pin.reason for pin in self.pins},
            "leave_out": " ".join(self.target.leave_out),
        }

    @property
    def image_record(self) -> dict[str, Any]:
        """The content of the target.json in the image, with which the image tests compare it."""
        return {
            **self._facts(),
            "wheels": self.installed,
            "vendor_wheels": self._vendor_versions(),
            "held": [pin.requirement for pin in self.pins],
            "environment": self.environment.cann,
        }

    def _facts(self) -> dict[str, Any]:
        target = self.target
        overridden = parse_requirements(self.requirements.overrides)
        return {
            "id": target.id,
            "platform": target.platform,
            "machine": target.machine,
            "chip": target.chip,
            "operators": target.operators,
            "components": target.components,
            "cxx_abi": target.cxx_abi,
            "toolkit_home": self.environment.toolkit_home,
            "overridden": [*(normal_name(r.name) for r in overridden), *self.lock.left_out],
            **asdict(self.python),
        }

    def _vendor_versions(self) -> dict[str, str]:
        return {name: wheel.version for name, wheel in self.target.vendor_wheels.items()}


def read_plans(project: Project, targets: Iterable[Target]) -> dict[str, ImagePlan]:
    """The plans of ``targets`` by their ids, with the locks below images/."""
    plans: dict[str, ImagePlan] = {}
    problems: list[Problem] = []
    for target in targets:
        try:
            lock, requirements = read_lock(project, target), Requirements(target)
            check_lock(requirements, lock)
            plans[target.id] = plan_image(target, lock, requirements)
        except MatrixError as error:
            problems += error.problems
    if problems:
        raise MatrixError(problems)
    return plans


def plan_image(target: Target, lock: Lock, requirements: Requirements | None = None) -> ImagePlan:
    """The plan of the image of ``target``, whose wheels ``lock`` holds.

    Raises:
        MatrixError: the target has NNAL, and nothing says with which C++ ABI.
    """
    if target.with_nnal and target.cxx_abi is None:
        what = f"compat.yaml has no row of cxx_abi for {target.id}, so its NNAL cannot be chosen."
        fix = f"'python build.py lock --target {target.id}' reads the wheel, and says the row."
        raise MatrixError(Problem(what=what, fix=fix, where=target.span))
    requirements = requirements or Requirements(target)
    python, environment = python_paths(target), environment_of(target)
    local = {wheel.package: wheel.installed_version for wheel in target.built_wheels.values()}
    installed = {**lock.versions, **local}
    return ImagePlan(
        target=target,
        lock=lock,
        requirements=requirements,
        python=python,
        environment=environment,
        layers=layers_of(requirements, lock, python, environment.all),
        labels=_labels(target, lock),
        simulated_labels=simulated_labels(target),
        installed=installed,
        local_versions=local,
        pins=tuple(_pins(requirements, installed)),
    )


def simulated_labels(target: Target) -> dict[str, str]:
    """The labels of a simulated image that differ from those of the real one."""
    return {
        "org.opencontainers.image.title": f"{target.id}-sim",
        "org.opencontainers.image.description": (
            f"SIMULATED, for tests; results say nothing about an NPU: {target.summary}"
        ),
        SIMULATED_LABEL: "true",
    }


def _labels(target: Target, lock: Lock) -> dict[str, str]:
    labels = {
        "org.opencontainers.image.title": target.id,
        "org.opencontainers.image.description": target.summary,
        f"{NAMESPACE}.target": target.id,
        f"{NAMESPACE}.chip": target.chip,
        f"{NAMESPACE}.lock": lock.digest,
    }
    for name, version in target.components.items():
        labels[f"{NAMESPACE}.{name.replace('_', '-')}"] = version
    if target.without_compiler:
        labels[f"{NAMESPACE}.flavour"] = target.flavour
    if target.unverified:
        labels[f"{NAMESPACE}.unverified"] = target.unverified
    if target.cann.interim:
        labels[f"{NAMESPACE}.cann-edition"] = "interim"
        labels[f"{NAMESPACE}.cann-nearest-public"] = target.cann.nearest_public
    return labels | dict(target.labels)


def _pins(requirements: Requirements, installed: Mapping[str, str]) -> list[Pin]:
    """The pins of a target, whose packages have the versions ``installed``.

    These are all versions that matrix.yaml specifies; compat.yaml requires that it specifies each
    version on which a component depends.
    """
    target = requirements.target
    vendor = {normal_name(name): wheel.file_version for name, wheel in target.vendor_wheels.items()}
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
            specified = _range(requirement, requirements.overrides)
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
    names = {normal_name(replaced.name) for replaced in parse_requirements(override)}
    if requirement.extras or normal_name(requirement.name) in names:
        return ""
    return str(requirement.specifier)
