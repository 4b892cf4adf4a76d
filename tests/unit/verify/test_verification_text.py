# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from cannery.common.model import DeviceKind
from cannery.verify.verification import Check, DeviceRun, Verification, to_brief, to_text
from tests.unit.verifications import NOT_RUN, PASSED, REPORT

FAILURE = ["", "FAILED on device simulated: os/test_os.py::test_b", "é > 1"]
COMPONENTS = [f"component{number}" for number in range(12)]


def large() -> Verification:
    """A run of 72 checks of a target with 12 components, none of which fails."""
    bare, device = [], []
    for component in [*COMPONENTS, "nnal"]:
        for number in range(6):
            check = Check(
                name=f"{component}/test_it.py::test_{number}",
                title=f"{component}, check {number}",
                outcome="passed",
                why="",
            )
            if component == "nnal":
                check = replace(check, outcome="not run", left_out="component")
                bare.append(check)
                device.append(check)
            elif number < 4:
                bare.append(check)
                why = "is checked in a container without a device"
                device.append(replace(check, outcome="not run", why=why))
            else:
                why = "needs a device, and this run has none"
                bare.append(replace(check, outcome="not run", why=why))
                device.append(check)
    runs = (
        DeviceRun(device=DeviceKind.NONE, checks=tuple(bare), hardware="aarch64, no NPU"),
        DeviceRun(device=DeviceKind.NPU, checks=tuple(device), hardware="aarch64, 8 x 910B3"),
    )
    return Verification(target="full", image="cannery:full", image_id="sha256:0", runs=runs)


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


def test_every_check_has_a_row_if_that_is_asked_for() -> None:
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


def test_a_run_without_failures_fits_a_screen() -> None:
    lines = to_text(large()).splitlines()
    assert lines[:4] == [
        "full: 72 passed, 0 failed, 0 not run",
        "  none: aarch64, no NPU",
        "  npu: aarch64, 8 x 910B3",
        "  passed/run    none    npu",
    ]
    assert lines[4] == "  component0     4/4    2/2"
    assert lines[-1] == "  all          48/48  24/24"
    assert [line.split()[0] for line in lines[4:-1]] == COMPONENTS
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80


def test_the_details_say_why_a_check_was_not_run_on_one_kind_of_device() -> None:
    lines = to_text(large(), verbose=True).splitlines()
    assert "                    -  passed  component0, check 5" in lines
    assert lines[-2:] == [
        "  24 not run on device none: needs a device, and this run has none",
        "  48 not run on device npu: is checked in a container without a device",
    ]
    assert not [line for line in lines if "nnal" in line]


def test_one_line_and_the_failures() -> None:
    said = "full: 1 passed, 1 failed, 1 not run (passed/run: none 1/1, simulated 1/2)"
    assert to_brief(REPORT).splitlines() == [said, *FAILURE]
    assert to_brief(large()) == (
        "full: 72 passed, 0 failed, 0 not run (passed/run: none 48/48, npu 24/24)\n"
    )


def test_a_check_that_fails_on_one_kind_of_device_has_failed() -> None:
    failed = replace(PASSED, outcome="failed", why="no")
    runs = (
        DeviceRun(device=DeviceKind.NONE, checks=(failed, NOT_RUN)),
        DeviceRun(device=DeviceKind.SIMULATED, checks=(PASSED, NOT_RUN)),
    )
    lines = to_text(replace(REPORT, runs=runs)).splitlines()
    assert lines[0] == "full: 0 passed, 1 failed, 1 not run"
    assert lines[-2:] == ["FAILED on device none: torch/test_torch.py::test_a", "no"]
