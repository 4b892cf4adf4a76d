# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from cannery.common.errors import Problem
from cannery.common.model import Target
from cannery.engine.preflight import is_older, judge_driver
from cannery.matrix.project import Project
from tests.unit.matrices import CHECKOUT

PROJECT = Project(root=CHECKOUT)
COMPAT = PROJECT.compat()
TARGET = PROJECT.matrix().targets["py39-torch251-cann81rc1-vllm073"]
ORDER = ["23.0.rc1", "23.0.rc2.b090", "23.0.rc2.b100", "24.1.rc1", "24.1.rc3", "24.1.0", "24.1.0.1"]
ORDER += ["25.0", "25.0.RC1", "25.0.RC2", "25.0.0", "25.2.0", "25.3.RC1", "25.5.0", "25.10.0"]


@pytest.mark.parametrize("number", range(len(ORDER)))
def test_versions_have_an_order(number: int) -> None:
    for earlier in ORDER[:number]:
        if {earlier, ORDER[number]} == {"24.1.0", "24.1.0.1"}:
            continue  # a build is compared where both have one
        assert is_older(earlier, ORDER[number]) is True
        assert is_older(ORDER[number], earlier) is False
    assert is_older(ORDER[number], ORDER[number]) is False


def test_a_build_is_not_older_than_its_release() -> None:
    assert is_older("23.0.rc2.b010", "23.0.rc2") is False
    assert is_older("24.1.RC3", "24.1.rc3") is False


@pytest.mark.parametrize("version", ["", "unknown", "v1", "25"])
def test_what_is_no_version_is_not_compared(version: str) -> None:
    assert is_older(version, "25.0.RC1") is None


def cann(target: Target, version: str) -> Target:
    return replace(target, cann=replace(target.cann, version=version))


def test_a_driver_that_every_source_finds_too_old() -> None:
    found = judge_driver("24.1.rc3", TARGET, COMPAT)
    assert isinstance(found, Problem)
    assert "is 24.1.rc3, but CANN 8.1.RC1 needs 25.0.RC1 or newer (" in found.what
    assert "compat.yaml:" in found.what
    assert "Update the driver" in found.fix


def test_a_driver_that_will_do() -> None:
    assert judge_driver("25.0.RC1", TARGET, COMPAT) == ""
    assert judge_driver("25.5.0", TARGET, COMPAT) == ""


def test_a_driver_on_which_sources_disagree_is_let_through_with_a_word() -> None:
    found = judge_driver("25.1.0", cann(TARGET, "8.5.0"), COMPAT)
    assert isinstance(found, str)
    assert "needs 25.5.0 or newer" in found
    assert "other sources accept this driver" in found
    assert isinstance(judge_driver("24.1.0", cann(TARGET, "8.5.0"), COMPAT), Problem)


def test_an_interim_build_is_judged_as_the_release_nearest_to_it() -> None:
    release = replace(TARGET.cann, version="8.1.T1", interim=True, nearest_public="8.1.RC1")
    assert isinstance(judge_driver("24.1.rc3", replace(TARGET, cann=release), COMPAT), Problem)


def test_where_nobody_knows_it_is_said() -> None:
    found = judge_driver("24.1.rc3", cann(TARGET, "8.0.0"), COMPAT)
    assert found == "no source names the oldest driver for CANN 8.0.0; this host has 24.1.rc3."


def test_a_driver_that_is_newer_than_any_that_was_tried_is_let_through_with_a_word() -> None:
    target = cann(TARGET, "9.1.0")
    assert judge_driver("26.1.0", target, COMPAT) == ""
    found = judge_driver("27.0.0", target, COMPAT)
    assert isinstance(found, str)
    assert found.startswith("the driver of this host is 27.0.0, and the newest that is known to ")
    assert "work with CANN 9.1.0 is 26.1.1 (hicann/release-management" in found
    assert isinstance(judge_driver("25.0.1", target, COMPAT), Problem)


def test_a_version_that_cannot_be_compared_is_let_through_with_a_word() -> None:
    found = judge_driver("custom", TARGET, COMPAT)
    assert found == "the driver version of this host, 'custom', has an unknown format."
