# SPDX-License-Identifier: Apache-2.0
"""What the session workflow-jobs runs, as far as that can be told without running it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow_jobs.scenarios import GITLAB as GITLAB_FILE
from tests.workflow_jobs.scenarios import SCENARIOS
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


@pytest.mark.parametrize("variable", ["CANNERY_NPU", "CANNERY_SCAN", "CANNERY_NIGHTLY"])
def test_a_schedule_with_a_job_of_its_own_starts_no_other(variable: str) -> None:
    for job in ("check", "suite", "plan", "build", "green"):
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
