# SPDX-License-Identifier: Apache-2.0
"""What a target needs besides its components."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cannery.lock.requirements import Requirements
from tests.unit.matrices import load


@pytest.mark.parametrize(
    ("torch", "python", "missing"),
    [
        ("2.5.1", "3.9.2", False),
        ("2.6.0", "3.9.2", True),
        ("2.8.0", "3.9.2", True),
        ("2.10.0", "3.11.2", False),
    ],
)
def test_importlib_metadata_is_installed_where_torch_imports_it_undeclared(
    tmp_path: Path, torch: str, python: str, missing: bool
) -> None:
    full = load(tmp_path).targets["full"]
    target = replace(full, torch=torch, python=replace(full.python, version=python))
    added = ("importlib-metadata",) if missing else ()
    assert Requirements(target).groups["torch"] == (f"torch=={torch}", *added)
