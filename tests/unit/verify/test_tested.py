# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from tests.unit.verifications import NOT_RUN, REPORT


def test_the_counts_of_each_kind_of_device() -> None:
    [none, simulated] = REPORT.runs
    known = replace(REPORT, runs=(replace(none, hardware="x86_64"), simulated))
    first, second = known.counts()
    assert (first.device, first.hardware, first.date) == ("none", "x86_64", "2026-11-21")
    assert (first.passed, first.failed, first.not_run) == (1, 0, 1)
    assert (second.passed, second.failed, second.not_run) == (1, 1, 0)
    assert second.hardware == "not noted"


def test_checks_of_other_components_are_not_counted() -> None:
    [none, _] = REPORT.runs
    other = replace(NOT_RUN, name="nnal/test_nnal.py::test_d", left_out="component")
    [found] = replace(REPORT, runs=(replace(none, checks=(*none.checks, other)),)).counts()
    assert found.not_run == 1
