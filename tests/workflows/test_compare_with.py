# SPDX-License-Identifier: Apache-2.0
"""Which commit a run is compared with: nothing is lost when a run is cancelled or fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.unit.changes import commit, git
from tests.workflows.api import Api, serving
from tests.workflows.steps import ROOT

PROGRAM = ROOT / ".ci" / "compare_with.py"
SERVICES = ("github", "gitlab")


@pytest.fixture
def api() -> Iterator[Api]:
    with serving() as served:
        yield served


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    return tmp_path


def compared_with(clone: Path, env: Mapping[str, str]) -> tuple[str, str]:
    """The commit, and what is notes of it."""
    argv = [sys.executable, str(PROGRAM)]
    own = {"PATH": "/usr/bin:/bin", **env}
    done = subprocess.run(argv, cwd=clone, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def of(api: Api, service: str, **more: str) -> dict[str, str]:
    return {**getattr(api, f"of_{service}"), **more}


@pytest.mark.parametrize("service", SERVICES)
def test_a_push_is_compared_with_the_last_green_commit(clone: Path, api: Api, service: str) -> None:
    first, second, third = commit(clone), commit(clone), commit(clone)
    api.ran(first, "success", "schedule")
    api.ran(second, "success")
    api.ran(third, "cancelled")
    commit(clone)
    assert compared_with(clone, of(api, service)) == (second, "")


@pytest.mark.parametrize("service", SERVICES)
def test_a_first_push_is_compared_with_nothing(clone: Path, api: Api, service: str) -> None:
    api.ran(commit(clone), "failure")
    since, notes = compared_with(clone, of(api, service))
    assert (since, "no commit whose run was green: all targets" in notes) == ("", True)


@pytest.mark.parametrize("service", SERVICES)
def test_after_a_forced_push_the_newest_local_green_commit_counts(
    clone: Path, api: Api, service: str
) -> None:
    kept = commit(clone)
    api.ran(kept, "success")
    api.ran("0123" * 10, "success")
    api.ran("--all", "success")
    assert compared_with(clone, of(api, service)) == (kept, "")


def test_a_pull_request_is_compared_with_its_target_branch(clone: Path, api: Api) -> None:
    api.ran(commit(clone), "success")
    github = of(api, "github", GITHUB_EVENT_NAME="pull_request")
    assert compared_with(clone, github) == ("HEAD^1", "")
    gitlab = of(api, "gitlab", CI_PIPELINE_SOURCE="merge_request_event")
    assert compared_with(clone, {**gitlab, "CI_MERGE_REQUEST_DIFF_BASE_SHA": "01"}) == ("01", "")


def test_a_pull_request_from_a_branch_of_the_same_name_is_no_green_run(
    clone: Path, api: Api
) -> None:
    api.ran(commit(clone), "success", "pull_request")
    assert compared_with(clone, of(api, "github"))[0] == ""


def test_a_deployment_of_another_branch_is_no_green_run(clone: Path, api: Api) -> None:
    api.ran(commit(clone), "success")
    assert compared_with(clone, of(api, "gitlab", CI_COMMIT_BRANCH="other"))[0] == ""


@pytest.mark.parametrize(("service", "token"), [("github", "GH_TOKEN"), ("gitlab", "CI_JOB_TOKEN")])
@pytest.mark.parametrize("is_given", [True, False])
def test_a_refused_or_missing_token_means_all(
    clone: Path, api: Api, service: str, token: str, *, is_given: bool
) -> None:
    api.ran(commit(clone), "success")
    env = {**of(api, service), token: "no"}
    if not is_given:
        del env[token]
    since, notes = compared_with(clone, env)
    assert (since, "does not say which runs were green" in notes) == ("", True)


@pytest.mark.parametrize(
    "event",
    [{"GITHUB_EVENT_NAME": name} for name in ("schedule", "workflow_dispatch")]
    + [{"CI_PIPELINE_SOURCE": name} for name in ("schedule", "web")],
)
def test_a_run_by_hand_or_by_a_schedule_builds_all(
    clone: Path, api: Api, event: dict[str, str]
) -> None:
    api.ran(commit(clone), "success")
    service = "github" if "GITHUB_EVENT_NAME" in event else "gitlab"
    assert compared_with(clone, of(api, service, **event)) == ("", "")


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("broken", [b"<html>", b"[1]", b"{}", b'"x"', b"null"])
def test_an_invalid_service_answer_means_all_targets(
    clone: Path, api: Api, service: str, broken: bytes
) -> None:
    api.ran(commit(clone), "success")
    api.broken = broken
    since, notes = compared_with(clone, of(api, service))
    assert (since, "all targets" in notes) == ("", True)


def test_the_error_outside_ci_names_the_command(clone: Path) -> None:
    argv = [sys.executable, str(PROGRAM)]
    done = subprocess.run(argv, cwd=clone, env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, "ci --since COMMIT" in done.stderr) == (2, True)
