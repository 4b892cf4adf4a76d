# SPDX-License-Identifier: Apache-2.0
"""The Ascend build of apex."""

from __future__ import annotations

from typing import Any

import pytest

Facts = dict[str, Any]


def test_version(facts: Facts, record: Facts) -> None:
    """apex is the target's version."""
    assert facts["distributions"]["apex"]["version"] == record["components"]["apex"]


@pytest.mark.either
def test_stand_in_is_named(facts: Facts, device: str) -> None:
    """Only a simulated image may hold the stand-in for apex."""
    stand_in = "stand-in" in facts["distributions"]["apex"]["summary"].lower()
    assert not (stand_in and device == "npu"), facts["distributions"]["apex"]


def test_imports(imported: Facts) -> None:
    """apex and apex.amp import."""
    assert not imported["apex"]["error"], imported["apex"]["error"]
    assert not imported["apex.amp"]["error"], imported["apex.amp"]["error"]
