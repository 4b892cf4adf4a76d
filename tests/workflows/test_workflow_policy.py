# SPDX-License-Identifier: Apache-2.0
"""What holds for every workflow, besides what actionlint and zizmor look at."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cannery.building.ci_jobs import EXECUTORS, Job, to_gitlab
from tests.workflows.steps import GITLAB, ROOT, WORKFLOWS

JOBS = {
    f"{workflow}/{name}": job
    for workflow, content in WORKFLOWS.items()
    for name, job in content["jobs"].items()
}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_grants_nothing_to_all_of_its_jobs(name: str) -> None:
    workflow = WORKFLOWS[name]
    assert workflow["permissions"] == {}
    # The default would go on after a failure in the middle of a pipe.
    assert workflow["defaults"] == {"run": {"shell": "bash"}}
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    assert "pull_request_target" not in text
    assert "workflow_run" not in text


@pytest.mark.parametrize("name", JOBS)
def test_a_job_has_permissions_and_an_end(name: str) -> None:
    job = JOBS[name]
    assert isinstance(job["timeout-minutes"], int)
    assert "permissions" in job
    for step in job["steps"]:
        assert "shell" not in step
        if "run" in step:
            assert step["name"]
        if "actions/checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False


def _secrets(job: Any) -> set[str]:
    return {*re.findall(r"secrets\.\w+", str(job))}


def test_secrets_are_in_protected_environments_only() -> None:
    users = {name for name, job in JOBS.items() if _secrets(job)}
    assert users == {"npu/npu", "release/publish", "update/scan"}
    assert JOBS["npu/npu"]["environment"] == "npu"
    assert JOBS["release/publish"]["environment"] == "release"
    assert JOBS["update/scan"]["environment"] == "registry-read"


WRITING = {
    name: granted
    for name, job in JOBS.items()
    if (granted := {key for key, scope in job["permissions"].items() if scope == "write"})
}


def test_a_job_with_write_permission_runs_no_package_code() -> None:
    writing = {name for name, granted in WRITING.items() if "contents" in granted}
    assert writing == {"release/record", "update/propose"}
    for name in writing:
        steps = JOBS[name]["steps"]
        assert [step["run"] for step in steps if "run" in step] == [".ci/propose"], name
        # Into the checkout itself it could put a hook of git.
        downloads = [step["with"] for step in steps if "download-artifact" in step.get("uses", "")]
        assert [each["path"] for each in downloads] == ["proposal"], name


def test_published_images_use_no_cache_of_ci() -> None:
    """The job that writes the cache runs code of packages, so no other may use the cache."""
    assert {name for name, granted in WRITING.items() if "packages" in granted} == {"ci/build"}
    reading = {name for name, job in JOBS.items() if "--cache-from" in str(job)}
    assert reading == {"ci/build"}


@pytest.mark.parametrize("name", ["npu", "pages", "release", "update"])
def test_a_workflow_that_writes_outside_is_never_cancelled(name: str) -> None:
    """Its end could leave some tags moved and others not."""
    workflow = WORKFLOWS[name]
    limits = [
        each["concurrency"]
        for each in (workflow, *workflow["jobs"].values())
        if "concurrency" in each
    ]
    assert [limit["cancel-in-progress"] for limit in limits] == [False]


def test_gitlab_publishes_once_at_a_time_and_never_cancels_it() -> None:
    assert GITLAB["publish"]["resource_group"] == "registry"
    assert GITLAB["publish"]["interruptible"] is False


def test_code_of_forks_does_not_run_on_our_machines() -> None:
    ours = {name for name, job in JOBS.items() if "self-hosted" in job["runs-on"]}
    assert ours == {"npu/npu", "release/publish"}
    assert "!github.event.pull_request.head.repo.fork" in JOBS["npu/npu"]["if"]
    triggers = WORKFLOWS["release"][True]  # YAML 1.1 takes 'on' for true
    assert triggers.keys() == {"push", "workflow_dispatch"}
    assert triggers["push"].keys() == {"tags"}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("count", [0, 2])
def test_a_child_pipeline_is_one_for_gitlab(count: int, executor: str, tmp_path: Path) -> None:
    jobs = [
        Job(index=index + 1, count=count, platform="linux/arm64", targets=("a", "b"))
        for index in range(count)
    ]
    path = tmp_path / "pipeline.yml"
    argv = ["check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", str(path)]
    text = to_gitlab(jobs, simulate=True, executor=executor)
    path.write_text(text, encoding="utf-8")
    subprocess.run(argv, check=True, capture_output=True)
    path.write_text(text.replace("stages:\n- build", "stages: 1"), encoding="utf-8")
    assert subprocess.run(argv, check=False, capture_output=True).returncode == 1
