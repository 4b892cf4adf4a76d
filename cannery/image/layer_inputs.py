# SPDX-License-Identifier: Apache-2.0
"""What layers with packages of the base's distribution are made from."""

from __future__ import annotations

from cannery.common.bases import MPI, PythonSource
from cannery.common.extras import HCCL_TEST
from cannery.common.model import Flavour, Target


def build_inputs(target: Target) -> list[str]:
    """Inputs of every layer: the build stage's base, and the paths that all layers leave out."""
    return [target.build_base.image, *target.leave_out]


def has_own_python(target: Target) -> bool:
    """Whether the interpreter is the base's own."""
    return target.python.source is PythonSource.BASE


def system_packages(target: Target) -> tuple[str, ...]:
    """The packages of the first layer."""
    own, compiler = has_own_python(target), target.flavour is not Flavour.RUNTIME
    return target.base.distribution.first_packages(own_python=own, compiler=compiler)


def system_inputs(target: Target) -> list[object]:
    """All that the first layer depends on."""
    version = target.python.version if has_own_python(target) else ""
    where = [build_inputs(target), target.base.image, target.platform, version]
    return [*where, system_packages(target)]


def system_components(target: Target) -> list[str]:
    """The components that the first layer has."""
    return ["base", *(["python"] if has_own_python(target) else [])]


def more_packages(target: Target) -> dict[str, tuple[str, ...]]:
    """Component to what it asks for beside the first layer's packages."""
    wanted: dict[str, tuple[str, ...]] = {HCCL_TEST: (MPI,)} if target.hccl_test else {}
    application = target.application
    if application and application.packages:
        wanted[application.component] = application.packages
    return wanted
