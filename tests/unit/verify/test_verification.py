# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cannery.common.model import DeviceKind
from cannery.verify.verification import Check, DeviceRun, passed_on
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
def test_checks_of_components_that_the_target_does_not_have(check: Check, applies: bool) -> None:
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
def test_a_file_that_is_not_a_report_says_nothing(text: str) -> None:
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
