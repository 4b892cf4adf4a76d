# SPDX-License-Identifier: Apache-2.0
"""The variables of NNAL's set_env.sh by release: what the sources say, and between them."""

from __future__ import annotations

import pytest

from cannery.image.environment import atb_variables

GLOBAL = "ATB_WORKSPACE_MEM_ALLOC_GLOBAL"


@pytest.mark.parametrize(
    ("version", "number", "allocation"),
    [
        ("8.0.T39", 27, "0"),
        ("8.0.RC3", 27, "0"),
        ("8.0.0", 27, "0"),
        ("8.1.RC1", 28, "0"),
        ("8.2.RC1", 21, "0"),
        ("8.3.RC1.alpha001", 21, "0"),
        ("8.3.RC1", 15, "1"),
        ("8.5.0", 11, None),
        ("9.1.1", 11, None),
    ],
)
def test_each_release_has_its_own(version: str, number: int, allocation: str | None) -> None:
    found = atb_variables(version)
    assert len(found) == number
    assert found.get(GLOBAL) == allocation
