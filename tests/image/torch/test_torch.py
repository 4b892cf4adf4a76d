# SPDX-License-Identifier: Apache-2.0
"""PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

Facts = dict[str, Any]


@pytest.mark.any_image
def test_imports(torch_alone: Facts, locked: Any) -> None:
    """torch imports without a driver and without a profile, in the target's version."""
    torch = torch_alone["torch"]
    assert not torch["error"], torch["error"]
    assert torch["version"] in locked("torch")


def test_is_compiled(imported: Facts, record: Facts) -> None:
    """Importing torch and torch_npu compiles no Python file: the layers have compiled them."""
    if not record["compiled"]:
        pytest.skip("the base has no interpreter of this version to compile with")
    folders = tuple(record["compiled"])
    assert [path for path in imported["not_compiled"] if path.startswith(folders)] == []
