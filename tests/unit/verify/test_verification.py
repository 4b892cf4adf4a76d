# SPDX-License-Identifier: Apache-2.0
"""Reports on an image: as JSON, as text, and the counts in them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cannery.common.model import DeviceKind
from cannery.verify.verification import Check, DeviceRun, passed_on, to_brief, to_text
from tests.unit.verifications import FAILED, NOT_RUN, PASSED, REPORT


def test_the_json_holds_everything() -> None:
    text = REPORT.to_json()
    assert "é > 1" in text
    loaded = json.loads(text)
    assert [run["device"] for run in loaded["runs"]] == ["none", "simulated"]
    assert loaded["runs"][1]["checks"][1] == {
        "name": "os/test_os.py::test_b",
        "title": "it is small",
        "outcome": "failed",
        "why": "é > 1",
        "left_out": "",
    }
    assert (loaded["target"], loaded["image"], loaded["image_id"]) == (
        "full",
        "cannery:full-sim",
        "sha256:0",
    )


def no_list(_: DeviceKind) -> tuple[str, ...]:
    return ()


@pytest.mark.parametrize(
    ("check", "applies"),
    [
        (PASSED, True),
        (NOT_RUN, True),
        (replace(NOT_RUN, left_out="component"), False),
        (replace(NOT_RUN, left_out="waits"), True),
        (replace(NOT_RUN, why="the target has no nnal, a check may say itself"), True),
        (replace(FAILED, why="the target has no nnal"), True),
    ],
)
def test_checks_of_missing_components_do_not_apply(check: Check, applies: bool) -> None:
    assert check.applies is applies


def test_the_devices_on_which_all_checks_passed() -> None:
    text = replace(REPORT, checks="c").to_json()
    assert passed_on(text, image_id="sha256:0", checks="c", expected=no_list) == {"none"}


@pytest.mark.parametrize(
    ("image_id", "checks"), [("sha256:1", "c"), ("sha256:0", "other"), ("sha256:0", "")]
)
def test_a_report_of_something_else_says_nothing(image_id: str, checks: str) -> None:
    text = replace(REPORT, checks="c").to_json()
    assert passed_on(text, image_id=image_id, checks=checks, expected=no_list) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", '{"image_id": "sha256:0", "checks": "c"}'),
        '{"image_id": "sha256:0", "checks": "c", "runs": [{"device": "none", "checks": [1]}]}',
    ],
)
def test_an_invalid_report_has_no_passed_checks(text: str) -> None:
    assert passed_on(text, image_id="sha256:0", checks="c", expected=no_list) == frozenset()


@pytest.mark.parametrize("checks", [(), (NOT_RUN,)])
def test_a_run_without_any_check_is_not_a_pass(checks: tuple[Check, ...]) -> None:
    run = DeviceRun(device=DeviceKind.NONE, checks=checks)
    text = replace(REPORT, checks="c", runs=(run,)).to_json()
    assert passed_on(text, image_id="sha256:0", checks="c", expected=no_list) == frozenset()


@pytest.mark.parametrize("left_out", ["component", "elsewhere"])
def test_a_run_with_too_few_checks_is_not_a_pass(left_out: str) -> None:
    """As of a run that a setting of pytest has cut short."""
    every = [PASSED.name, NOT_RUN.name, "os/test_os.py::test_c"]
    parametrized = replace(PASSED, name="os/test_os.py::test_c[a]")
    checks = (PASSED, NOT_RUN, parametrized)
    for given, passed in (
        (checks, {"none"}),
        (checks[:2], set()),
        ((PASSED, replace(NOT_RUN, left_out=left_out), parametrized), set()),
    ):
        run = DeviceRun(device=DeviceKind.NONE, checks=given)
        text = replace(REPORT, checks="c", runs=(run,)).to_json()
        found = passed_on(text, image_id="sha256:0", checks="c", expected=lambda _: every)
        assert found == passed


def test_a_report_of_some_checks_is_not_a_pass() -> None:
    found = passed_on(REPORT.to_json(), image_id="sha256:0", checks="", expected=no_list)
    assert found == frozenset()


FAILURE = ["", "FAILED on device simulated: os/test_os.py::test_b", "é > 1"]


def test_a_component_has_a_row_and_a_kind_of_device_a_column() -> None:
    assert to_text(REPORT).splitlines() == [
        "full: 1 passed, 1 failed, 1 not run",
        "  passed/run  none  simulated",
        "  torch        1/1        1/1",
        "  torch_npu      -          -",
        "  os             -        0/1",
        "                 -     failed  it is small",
        "  all          1/1        1/2",
        "  1 not run: no device",
        *FAILURE,
    ]


def test_a_verbose_report_has_a_row_for_every_check() -> None:
    assert to_text(REPORT, verbose=True).splitlines() == [
        "full: 1 passed, 1 failed, 1 not run",
        "  passed/run    none  simulated",
        "  torch          1/1        1/1",
        "              passed     passed  it imports",
        "  torch_npu        -          -",
        "                   -          -  it multiplies",
        "  os               -        0/1",
        "                   -     failed  it is small",
        "  all            1/1        1/2",
        "  1 not run: no device",
        *FAILURE,
    ]


def test_the_details_say_why_a_check_was_not_run_on_one_kind_of_device() -> None:
    waits = replace(PASSED, outcome="not run", why="needs a device, and this run has none")
    absent = replace(
        PASSED, name="nnal/test_it.py::test_a", outcome="not run", left_out="component"
    )
    runs = (
        DeviceRun(device=DeviceKind.NONE, checks=(waits, absent), hardware="aarch64, no NPU"),
        DeviceRun(device=DeviceKind.NPU, checks=(PASSED, absent), hardware="aarch64, 8 x 910B3"),
    )
    assert to_text(replace(REPORT, runs=runs), verbose=True).splitlines() == [
        "full: 1 passed, 0 failed, 0 not run",
        "  none: aarch64, no NPU",
        "  npu: aarch64, 8 x 910B3",
        "  passed/run  none     npu",
        "  torch          -     1/1",
        "                 -  passed  it imports",
        "  all            -     1/1",
        "  1 not run on device none: needs a device, and this run has none",
    ]


def test_one_line_and_the_failures() -> None:
    said = "full: 1 passed, 1 failed, 1 not run (passed/run: none 1/1, simulated 1/2)"
    assert to_brief(REPORT).splitlines() == [said, *FAILURE]


def test_a_check_failed_on_one_kind_of_device_has_failed() -> None:
    failed = replace(PASSED, outcome="failed", why="no")
    runs = (
        DeviceRun(device=DeviceKind.NONE, checks=(failed, NOT_RUN)),
        DeviceRun(device=DeviceKind.SIMULATED, checks=(PASSED, NOT_RUN)),
    )
    lines = to_text(replace(REPORT, runs=runs)).splitlines()
    assert lines[0] == "full: 0 passed, 1 failed, 1 not run"
    assert lines[-2:] == ["FAILED on device none: torch/test_torch.py::test_a", "no"]


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
