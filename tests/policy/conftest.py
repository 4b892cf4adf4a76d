# SPDX-License-Identifier: Apache-2.0
"""Policy tests are about the real matrix.yaml and what is committed under images/."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.matrix.project import Project
from tests.policy.dockerfile import Instruction, parse

PROJECT = Project(root=Path(__file__).resolve().parents[2])
TARGETS = PROJECT.matrix().targets


def traits(target: Target) -> frozenset[tuple[str, object]]:
    """What makes the files of a target differ from those of another one in kind."""
    application = target.application.component if target.application else ""
    wheels = [("wheel", name) for name in (*target.vendor_wheels, *target.built_wheels)]
    extras = [("extra", name) for name in target.extras]
    found: dict[str, object] = {
        "base": target.base.name,
        "python": (target.base.name, target.python.minor, bool(target.python.archives)),
        "cann": target.cann.version,
        "chip": target.chip,
        "platform": target.platform,
        "flavour": target.flavour,
        "nnal": target.with_nnal,
        "apex": bool(target.apex),
        "deepspeed": bool(target.deepspeed),
        "application": application,
        "emulated": target.emulated,
        "hccl_test": target.hccl_test,
        "unverified": bool(target.unverified),
    }
    return frozenset([*found.items(), *wheels, *extras])


def representatives(targets: Iterable[Target]) -> list[str]:
    """Few targets that have all traits between them.

    The files of all are rendered from the same templates, and tests of drift compare all of them.
    """
    left = {target.id: traits(target) for target in targets}
    missing, chosen = frozenset[tuple[str, object]]().union(*left.values()), []
    while missing:
        best = max(left, key=lambda name: len(left[name] & missing))
        chosen.append(best)
        missing -= left[best]
    return chosen


REPRESENTATIVES = representatives(TARGETS.values())


@pytest.fixture(scope="session")
def project() -> Project:
    return PROJECT


@pytest.fixture(params=REPRESENTATIVES)
def target(request: pytest.FixtureRequest) -> Target:
    return TARGETS[request.param]


@pytest.fixture
def folder(target: Target) -> Path:
    return PROJECT.images / target.id


@pytest.fixture
def dockerfile(folder: Path) -> list[Instruction]:
    return _dockerfile(folder / "Dockerfile")


@cache
def _dockerfile(path: Path) -> list[Instruction]:
    return parse(path.read_text(encoding="utf-8"))
