# SPDX-License-Identifier: Apache-2.0
"""The sources of the HCCL tests, which the toolkit has for its users to compile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import PACKAGES, TOOLKIT, Machine, Packed

SOURCES = PACKAGES / "toolkit" / "hccl_test"
TOOLS = "ascend-toolkit/latest/tools"


@pytest.mark.parametrize("release", ["t39", "cann85"])
def test_they_are_where_the_vendor_has_them(
    machine: Machine, release: str, request: pytest.FixtureRequest
) -> None:
    packed: Packed = request.getfixturevalue(release)
    machine.must_install(packed.file(TOOLKIT))
    folder = machine.ascend / TOOLS / "hccl_test"
    installed = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    sources = {p.relative_to(SOURCES): p.read_bytes() for p in SOURCES.rglob("*") if p.is_file()}
    assert installed == sources


def test_an_older_release_has_no_hccl_test_sources(
    machine: Machine, pack: Callable[..., Packed]
) -> None:
    machine.must_install(pack("6.3.RC1").file(TOOLKIT))
    assert (machine.ascend / TOOLS).is_dir()
    assert not (machine.ascend / TOOLS / "hccl_test").exists()
