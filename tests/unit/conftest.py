# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

import tests.unit.examples  # noqa: F401 - before a module asks for its number of examples
from tests.unit.matrices import Checkout, make_checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "checkout"
    root.mkdir()
    return make_checkout(root)
