# SPDX-License-Identifier: Apache-2.0
"""What later installs must keep: every bound of matrix.yaml that is meant for the target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from cannery.common.errors import MatrixError
from cannery.common.model import Target
from cannery.image.plan import plan_image
from cannery.lock.lock_file import parse_lock
from tests.unit.matrices import load, locked

BOUND = "accelerate>=0.34"


def lines(target: Target, *requirements: str) -> dict[str, str]:
    """Package to its requirement."""
    changed = replace(target, requirements=requirements)
    lock = parse_lock("".join(locked(each, "-r application.in") for each in PACKAGES))
    found = [each.requirement for each in plan_image(changed, lock).pins]
    assert len({Requirement(each).name for each in found}) == len(found)
    return {Requirement(each).name: each for each in found}


PACKAGES = ("numpy==1.26.4", "accelerate==0.34.2", "torch==2.3.1", "setuptools==80.1")


@pytest.fixture
def full(tmp_path: Path) -> Target:
    return load(tmp_path).targets["full"]


@pytest.mark.parametrize(
    ("requirements", "kept", "left_out"),
    [
        ((BOUND, "accelerate<1"), ("0.34.2", "0.99"), ("1.0", "0.33")),
        (("accelerate<1", BOUND, "accelerate!=0.35"), ("0.34.2",), ("1.0", "0.33", "0.35")),
        ((BOUND, "accelerate[deepspeed]<1"), ("0.34.2",), ("0.99", "1.0")),
        ((BOUND, "accelerate<1; python_version < '3'"), ("0.34.2", "1.0"), ("0.33",)),
        ((BOUND, "accelerate<1; platform_machine == 'aarch64'"), ("0.34.2",), ("1.0",)),
        ((BOUND, "accelerate==0.34.*"), ("0.34.2", "0.34.9"), ("0.35", "0.33")),
    ],
)
def test_all_bounds_of_a_package_stand(
    full: Target, requirements: Iterable[str], kept: Iterable[str], left_out: Iterable[str]
) -> None:
    found = Requirement(lines(full, *requirements)["accelerate"]).specifier
    assert all(found.contains(version) for version in kept), found
    assert not any(found.contains(version) for version in left_out), found


def test_nnal_of_an_unknown_abi_is_an_error(full: Target) -> None:
    with pytest.raises(MatrixError, match=r"no row of cxx_abi for full.* lock --target full"):
        plan_image(replace(full, cxx_abi=None), parse_lock(""))
    assert lines(replace(full, cxx_abi=None, with_nnal=False))


def test_a_bound_does_not_loosen_a_held_version(full: Target) -> None:
    assert lines(full, "torch>=2.1", "torch<3")["torch"] == "torch==2.3.1"


def test_a_pin_names_all_its_reasons(full: Target) -> None:
    changed = replace(full, requirements=("setuptools>=60",))
    lock = parse_lock(locked(PACKAGES[-1], "-r x.in"))
    found = {each.name: each for each in plan_image(changed, lock).pins}
    assert Requirement(found["setuptools"].requirement).specifier == "<81,>=60"
    assert found["setuptools"].reason == (
        "torch_npu imports pkg_resources, which was removed in 82; the image was tested with it"
    )
