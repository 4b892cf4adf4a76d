# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cannery.deploy.run_spec import DeviceKind
from cannery.report.tested import results
from cannery.report.verification import Check, DeviceRun, Verification, passed_on

PASSED = Check(name="torch/test_torch.py::test_a", title="it imports", outcome="passed", why="")
FAILED = Check(name="os/test_os.py::test_b", title="it is small", outcome="failed", why="é > 1")
SKIPPED = Check(
    name="torch_npu/test_npu.py::test_c", title="it multiplies", outcome="not run", why="no device"
)
REPORT = Verification(
    target="full",
    image="cannery:full-sim",
    image_id="sha256:0",
    runs=(
        DeviceRun(device=DeviceKind.NONE, checks=(PASSED, SKIPPED)),
        DeviceRun(device=DeviceKind.SIMULATED, checks=(PASSED, FAILED)),
    ),
)


def test_what_failed_is_found_with_its_device() -> None:
    assert REPORT.failed == [(DeviceKind.SIMULATED, FAILED)]


def test_the_text_tells_the_devices_apart() -> None:
    assert REPORT.to_text() == (
        "full on device none: 1 passed, 0 failed, 1 not run\n"
        "  passed   torch      it imports\n"
        "  not run  torch_npu  it multiplies (no device)\n"
        "full on device simulated: 1 passed, 1 failed, 0 not run\n"
        "  passed   torch      it imports\n"
        "  failed   os         it is small\n"
        "\n"
        "FAILED on device simulated: os/test_os.py::test_b\n"
        "é > 1\n"
    )


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
    }
    assert (loaded["target"], loaded["image"], loaded["image_id"]) == (
        "full",
        "cannery:full-sim",
        "sha256:0",
    )


def test_the_brief_text_leaves_out_what_passed() -> None:
    assert REPORT.to_brief() == (
        "full on device none: 1 passed, 0 failed, 1 not run\n"
        "full on device simulated: 1 passed, 1 failed, 0 not run\n"
        "\n"
        "FAILED on device simulated: os/test_os.py::test_b\n"
        "é > 1\n"
    )


def test_the_devices_on_which_all_passed() -> None:
    text = replace(REPORT, checks="c").to_json()
    assert passed_on(text, image_id="sha256:0", checks="c") == {"none"}


@pytest.mark.parametrize(
    ("image_id", "checks"), [("sha256:1", "c"), ("sha256:0", "other"), ("sha256:0", "")]
)
def test_a_report_of_something_else_says_nothing(image_id: str, checks: str) -> None:
    text = replace(REPORT, checks="c").to_json()
    assert passed_on(text, image_id=image_id, checks=checks) == frozenset()


def test_a_report_of_some_checks_says_nothing() -> None:
    assert passed_on(REPORT.to_json(), image_id="sha256:0", checks="") == frozenset()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"image_id": "sha256:0", "checks": "c"}'])
def test_what_is_no_report_says_nothing(text: str) -> None:
    assert passed_on(text, image_id="sha256:0", checks="c") == frozenset()


def test_no_checks_are_no_pass() -> None:
    empty = replace(REPORT, checks="c", runs=(DeviceRun(device=DeviceKind.NONE, checks=()),))
    assert passed_on(empty.to_json(), image_id="sha256:0", checks="c") == frozenset()


def test_the_results_for_a_record() -> None:
    [none, simulated] = REPORT.runs
    known = replace(REPORT, date="2026-11-21", runs=(replace(none, hardware="x86_64"), simulated))
    first, second = results(known.to_json())
    assert (first.device, first.hardware, first.date) == ("none", "x86_64", "2026-11-21")
    assert (first.passed, first.failed, first.not_run) == (1, 0, 1)
    assert (second.passed, second.failed, second.not_run) == (1, 1, 0)
    assert second.hardware == "not noted"


def test_the_text_says_on_what_hardware() -> None:
    run = replace(REPORT.runs[0], hardware="aarch64, 8 x 910B3, driver 24.1.rc3")
    text = replace(REPORT, runs=(run,)).to_brief()
    assert text.startswith("full on device none (aarch64, 8 x 910B3, driver 24.1.rc3): 1 passed")


def test_the_text_says_that_the_image_is_simulated() -> None:
    simulated = replace(REPORT, simulated=True)
    for text in (simulated.to_text(), simulated.to_brief()):
        assert text.startswith("full (simulated image) on device none: 1 passed")
    assert json.loads(simulated.to_json())["simulated"] is True
    assert json.loads(REPORT.to_json())["simulated"] is False
