# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts import SimulatedHost, good_host


@pytest.fixture
def host(tmp_path: Path) -> SimulatedHost:
    return good_host(tmp_path / "host")


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the locale of who runs the tests is."""
    monkeypatch.setenv("LC_ALL", "C")


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are as wide as the terminal, which is another one where tests run beside each other."""
    monkeypatch.setenv("COLUMNS", "100")
