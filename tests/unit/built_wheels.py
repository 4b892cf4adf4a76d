# SPDX-License-Identifier: Apache-2.0
"""A checkout with a target whose application has a wheel that is built from an sdist."""

from __future__ import annotations

from pathlib import Path

from packaging.requirements import Requirement

from cannery.common.model import Target
from cannery.lock.lock_file import INPUTS
from cannery.lock.requirements import Requirements
from tests.unit.applications import TEXT, stacked_checkout, version_for
from tests.unit.matrices import Checkout, edited, locked

FILE = """\
        file: serve_npu-1.2-{tag}-none-linux_{machine}.whl
        origin: its makers
"""
SDIST = """\
        sdist: serve-npu==1.1
        local: npu
        build_requirements: [setuptools<81, wheel]
        environment: {SERVE_DEVICE: empty}
"""
BUILT = edited(FILE, SDIST, TEXT)
"""The application has version 1.2, and its wheel of another package 1.1."""


def build_lock_of(target: Target) -> str:
    """A lock with the build requirements of ``target`` and no more."""
    text = "".join(
        locked(f"{requirement.name}=={version_for(requirement)}", f"-r {group}.in")
        for group, wanted in Requirements(target).build_groups.items()
        for requirement in map(Requirement, wanted)
    )
    return f"{INPUTS}{Requirements(target).build_digest}\n{text}"


def built_checkout(root: Path, text: str = BUILT) -> Checkout:
    """As ``stacked_checkout``, with locks of the build requirements."""
    checkout = stacked_checkout(root, text)
    for target in checkout.matrix.targets.values():
        if target.built_wheels:
            path = checkout.project.build_requirements_lock(target)
            path.write_text(build_lock_of(target), encoding="utf-8")
    return checkout
