# SPDX-License-Identifier: Apache-2.0
"""Policy tests are about the real matrix.yaml and what is committed under images/."""

from __future__ import annotations

from pathlib import Path

import pytest

from cannery.common.model import Target
from cannery.matrix.project import Project
from tests.policy.dockerfile import Instruction, parse

PROJECT = Project(root=Path(__file__).resolve().parents[2])
TARGETS = PROJECT.matrix().targets


@pytest.fixture(scope="session")
def project() -> Project:
    return PROJECT


@pytest.fixture(scope="session", params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    return TARGETS[request.param]


@pytest.fixture(scope="session")
def folder(target: Target) -> Path:
    return PROJECT.images / target.id


@pytest.fixture(scope="session")
def dockerfile(folder: Path) -> list[Instruction]:
    return parse((folder / "Dockerfile").read_text(encoding="utf-8"))
