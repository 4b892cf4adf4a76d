# SPDX-License-Identifier: Apache-2.0
"""The acceleration library (ATB)."""

from __future__ import annotations

from typing import Any

import pytest

Facts = dict[str, Any]


@pytest.mark.inherited
def test_version(facts: Facts, record: Facts) -> None:
    """NNAL is of the target's version."""
    assert facts["infos"]["nnal"]["version"] == record["components"]["nnal"]


@pytest.mark.inherited
def test_libraries(facts: Facts) -> None:
    """ATB_HOME_PATH leads to the libraries."""
    assert "libatb.so" in facts["nnal_libraries"]


@pytest.mark.inherited
@pytest.mark.torch
def test_abi_is_torch_s(torch_alone: Facts, facts: Facts) -> None:
    """The ABI of the chosen ATB build is the one that torch was compiled with."""
    abi = int(torch_alone["cxx11_abi"])
    assert facts["environment"]["ATB_HOME_PATH"].endswith(f"cxx_abi_{abi}")
