# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts import SimulatedHost, good_host


@pytest.fixture
def host(tmp_path: Path) -> SimulatedHost:
    return good_host(tmp_path / "host")
