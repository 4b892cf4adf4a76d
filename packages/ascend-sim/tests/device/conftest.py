# SPDX-License-Identifier: Apache-2.0
"""Compiles the device once for this machine, and gives each test a simulated host of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from .hosts import Host, build


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.simulator)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("device"))


@pytest.fixture
def host(built: Path, tmp_path: Path) -> Host:
    return Host.make(built, tmp_path)
