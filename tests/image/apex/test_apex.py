# SPDX-License-Identifier: Apache-2.0
"""The Ascend build of apex."""

from __future__ import annotations

from typing import Any

import pytest

Facts = dict[str, Any]


def test_version(facts: Facts, locked: Any) -> None:
    """apex is the target's version."""
    assert facts["distributions"]["apex"]["version"] in locked("apex")


@pytest.mark.any_image
def test_imports(imported: Facts) -> None:
    """apex and apex.amp import."""
    assert not imported["apex"]["error"], imported["apex"]["error"]
    assert not imported["apex.amp"]["error"], imported["apex.amp"]["error"]
