# SPDX-License-Identifier: Apache-2.0
"""Everything that follows from a target and its lock, computed once.

The Dockerfile, target.json, content keys, bills of materials and the catalogue read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cannery.common.errors import MatrixError, Problem
from cannery.common.model import Target
from cannery.image.environment import PythonPaths, full_environment, python_paths
from cannery.image.layers import Layer, layers_of
from cannery.image.pins import Pin, pins_of
from cannery.image.wheel_groups import wheel_groups
from cannery.lock.lock_file import Lock, check_lock, read_lock
from cannery.matrix.project import Project

NAMESPACE = "io.cannery"
"""The prefix of the labels with the contents of an image."""


@dataclass(frozen=True, kw_only=True)
class ImagePlan:
    """The image of ``target`` with the wheels of ``lock``.

    ``environment`` is its ENV with unquoted values. ``installed`` maps packages to their versions,
    and ``local_versions`` those of them that are built, which may have a local version.
    """

    target: Target
    lock: Lock
    python: PythonPaths
    environment: Mapping[str, str]
    layers: tuple[Layer, ...]
    labels: Mapping[str, str]
    installed: Mapping[str, str]
    local_versions: Mapping[str, str]
    pins: tuple[Pin, ...]


def read_plans(project: Project, targets: Iterable[Target]) -> dict[str, ImagePlan]:
    """The plans of ``targets`` by their ids, with the locks below images/."""
    plans: dict[str, ImagePlan] = {}
    problems: list[Problem] = []
    for target in targets:
        try:
            lock = read_lock(project, target)
            check_lock(target, lock)
            plans[target.id] = plan_image(target, lock)
        except MatrixError as error:
            problems += error.problems
    if problems:
        raise MatrixError(problems)
    return plans


def plan_image(target: Target, lock: Lock) -> ImagePlan:
    """The plan of the image of ``target``, whose wheels ``lock`` holds."""
    python, environment = python_paths(target), full_environment(target)
    local = {wheel.package: wheel.installed_version for wheel in target.built_wheels.values()}
    installed = {**lock.versions, **local}
    return ImagePlan(
        target=target,
        lock=lock,
        python=python,
        environment=environment,
        layers=layers_of(target, lock, wheel_groups(target, lock), python, environment),
        labels=_labels(target, lock),
        installed=installed,
        local_versions=local,
        pins=tuple(pins_of(target, installed)),
    )


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
    return labels
