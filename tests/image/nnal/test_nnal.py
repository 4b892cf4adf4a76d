# SPDX-License-Identifier: Apache-2.0
"""The acceleration library (ATB)."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.host import Host

from cannery.common.cxx_abi import FRAMEWORKS, cxx_abi

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
def test_abi_is_the_framework_s(host: Host, facts: Facts, record: Facts) -> None:
    """The chosen ATB build has the C++ ABI of the libraries of torch or MindSpore in the image."""
    for package, framework in FRAMEWORKS.items():
        if package in facts["distributions"]:
            library = host.file(f"{record['site_packages']}/{framework.library}").content
            abi = cxx_abi(library, framework.namespace)
            assert facts["environment"]["ATB_HOME_PATH"].endswith(f"/cxx_abi_{abi}"), package


@pytest.mark.inherited
@pytest.mark.torch
def test_abi_is_torch_s(torch_alone: Facts, facts: Facts) -> None:
    """The ABI of the chosen ATB build is the one that torch says it was compiled with."""
    abi = int(torch_alone["cxx11_abi"])
    assert facts["environment"]["ATB_HOME_PATH"].endswith(f"cxx_abi_{abi}")
