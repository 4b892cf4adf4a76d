# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from platform import machine

import pytest

import tests.unit.examples  # noqa: F401 - before a module asks for its number of examples
from cannery.engine import builder
from tests.unit.matrices import Checkout, make_checkout


@pytest.fixture(autouse=True)
def no_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the builder be on a machine as this one, whatever engine is here."""
    native = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}[machine()]
    monkeypatch.setattr(builder, "node_platforms", lambda *_: ((native,),))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "checkout"
    root.mkdir()
    return make_checkout(root)
