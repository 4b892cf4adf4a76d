# SPDX-License-Identifier: Apache-2.0
"""PyTorch."""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]


def test_imports(probe: Any, record: Facts) -> None:
    """torch imports without a driver and without a profile, in the target's version."""
    torch = probe("imports", "torch")["torch"]
    assert not torch["error"], torch["error"]
    assert torch["version"].split("+")[0] == record["components"]["torch"]
