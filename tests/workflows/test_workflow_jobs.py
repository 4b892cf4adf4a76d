# SPDX-License-Identifier: Apache-2.0
"""What the session workflow-jobs runs, as far as that can be told without running it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow_jobs import page
from tests.workflow_jobs.scenarios import GITLAB as GITLAB_FILE
from tests.workflow_jobs.scenarios import SCENARIOS, Scenario
from tests.workflows.steps import GITLAB, MAIN, ROOT, WORKFLOWS

KEYS = {"stages", "workflow", "default"}
EVERY = {
    *((name, job) for name, content in WORKFLOWS.items() for job in content["jobs"]),
    *((GITLAB_FILE, job) for job in GITLAB.keys() - KEYS),
}


def test_every_job_is_in_a_scenario() -> None:
    found = {
        (each.workflow, job)
        for each in SCENARIOS
        for job, result in each.results.items()
        if result == "success"
    }
    assert found == EVERY


def test_recorded_results_are_the_expected_ones() -> None:
    expected = {each.name: each.results for each in SCENARIOS}
    assert {name: each["jobs"] for name, each in page.read().items()}.items() <= expected.items()


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.name)
def test_steps_that_ran_are_those_of_the_workflow(each: Scenario) -> None:
    for job, steps in page.read().get(each.name, {"steps": {}})["steps"].items():
        written = WORKFLOWS[each.workflow]["jobs"][job]["steps"]
        assert {*steps} <= {
            step.get("name", step.get("uses", "").split("@")[0]) for step in written
        }, job


def test_the_page_is_up_to_date() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text()


@pytest.mark.parametrize("variable", ["CANNERY_NPU", "CANNERY_SCAN", "CANNERY_NIGHTLY"])
def test_a_schedule_with_a_job_of_its_own_starts_no_other(variable: str) -> None:
    for job in ("check", "suite", "plan", "build"):
        first = GITLAB[job]["rules"][0]
        assert f"${variable}" in first["if"].split(" || ")
        assert first["when"] == "never"


def test_only_the_folder_of_the_tests_makes_a_command_simulated(tmp_path: Path) -> None:
    argv = ["build.py", "ci", "--format", "names", "--target", MAIN, "--artifacts", str(tmp_path)]
    said = {}
    for folder in ("", str(ROOT / "tests" / "workflow_jobs" / "simulated_npu")):
        env = {**os.environ, "PYTHONPATH": folder}
        done = subprocess.run(
            [sys.executable, *argv], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        said[bool(folder)] = done.stdout
    assert said == {False: "", True: f"{MAIN}\n"}
