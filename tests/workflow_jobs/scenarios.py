# SPDX-License-Identifier: Apache-2.0
"""The events that start the workflows, and what the jobs must have done in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cannery.execute.registry.client import Repository
from cannery.execute.registry.http import PATIENCE
from tests.unit.changes import git
from tests.workflow_jobs.place import REPOSITORY, Place
from tests.workflows.steps import MAIN

SAMPLE = {"PYTEST_ADDOPTS": "-p tests.workflow_jobs.sample"}
GITLAB = "gitlab"
_SEAM = "tests/workflow_jobs/simulated_npu"


def _nothing(_: Place) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An event, with the jobs that it starts and their results.

    ``told`` is a part of the event; for GitLab, variables of the pipeline. ``change`` changes the
    project beforehand, ``failing`` are the steps that fail, and ``check`` asserts what the jobs
    have done outside of their machine.
    """

    name: str
    workflow: str
    event: str
    results: Mapping[str, str]
    told: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    has_npu: bool = False
    failing: tuple[str, ...] = ()
    change: Callable[[Path], None] | None = None
    check: Callable[[Place], None] = _nothing


def environment(scenario: Scenario, place: Place) -> dict[str, str]:
    """The variables of the jobs' machine."""
    seam = {"PYTHONPATH": str(place.workspace / _SEAM)} if scenario.has_npu else {}
    return {**scenario.environment, **seam}


def _good(*jobs: str) -> dict[str, str]:
    return dict.fromkeys(jobs, "success")


def _server(place: Place) -> Path:
    return place.root / "server" / f"{REPOSITORY}.git"


def _changed(place: Place, branch: str) -> set[str]:
    """The files that differ between the default branch and ``branch`` on the server."""
    names = git(_server(place), "diff", "--name-only", "main", branch)
    return set(names.splitlines())


def _page(place: Place) -> None:
    assert MAIN in (place.root / "site" / "index.html").read_text(encoding="utf-8")


def _built(place: Place) -> None:
    names = {path.name for path in place.artifacts.iterdir()}
    assert names == {"reports-suite", "reports-1-of-1"}


_OLD, _NEW = "torch_npu: 2.8.0.post3", "torch_npu: 2.8.0.post4"


def _older(project: Path) -> None:
    """Let a target have an older torch_npu, of which compat.yaml says that it works, too."""
    matrix, compat = project / "matrix.yaml", project / "compat.yaml"
    text = matrix.read_text(encoding="utf-8")
    assert text.count(_NEW) == 1
    matrix.write_text(text.replace(_NEW, _OLD), encoding="utf-8")
    lines = compat.read_text(encoding="utf-8").splitlines(keepends=True)
    [row] = [line for line in lines if f"{{torch: 2.8.0, {_NEW}, cann: 9.0.0" in line]
    compat.write_text("".join(lines).replace(row, row + row.replace(_NEW, _OLD)), encoding="utf-8")


def _proposed(place: Place) -> None:
    branch = "update/package-index"
    assert _NEW in git(_server(place), "show", f"{branch}:matrix.yaml")
    assert "matrix.yaml" in _changed(place, branch)
    [request] = place.service.pull_requests.opened
    assert (request["baseRefName"], request["headRefName"]) == ("main", branch)
    assert "2.8.0.post4 is newer than 2.8.0.post3" in request["body"]


def _edited(place: Place) -> None:
    _proposed(place)
    assert place.service.pull_requests.calls[-1] == "PATCH pulls"


def tags(place: Place) -> list[str]:
    """The tags of images in the registry."""
    found = Repository(place.registry.host, "ascend", patience=PATIENCE).tags()
    return sorted(tag for tag in found if not tag.startswith("sha256-"))


def _released(place: Place) -> None:
    [branch] = [each for each in _branches(place) if each.startswith("records/")]
    [record] = [name for name in _changed(place, branch) if name.startswith("releases/")]
    assert '"simulated": true' in git(_server(place), "show", f"{branch}:{record}")
    assert any(each["headRefName"] == branch for each in place.service.pull_requests.opened)


def _branches(place: Place) -> list[str]:
    return git(_server(place), "branch", "--format=%(refname:short)").splitlines()


def _recorded(place: Place) -> None:
    assert [*(place.artifacts / "records-npu").glob("*/*.json")]


WITHOUT_SCENARIO = {("update", "scan"), ("update", "rebuild"), ("gitlab", "scan")}
"""Jobs that no scenario runs yet."""

SCENARIOS = (
    Scenario(
        name="pages",
        workflow="pages",
        event="push",
        results=_good("make", "publish"),
        check=_page,
    ),
    Scenario(
        name="ci",
        workflow="ci",
        event="pull_request",
        told={"action": "synchronize", "fork": True},
        environment=SAMPLE,
        results=_good("check", "suite", "page", "plan", "build", "done"),
        check=_built,
    ),
    Scenario(
        name="update",
        workflow="update",
        event="schedule",
        change=_older,
        results=_good("update"),
        check=_proposed,
    ),
    Scenario(
        name="update-again",
        workflow="update",
        event="workflow_dispatch",
        change=_older,
        results=_good("update"),
        check=_edited,
    ),
    Scenario(
        name="npu-of-a-fork",
        workflow="npu",
        event="pull_request",
        told={"action": "labeled", "label": {"name": "npu"}, "fork": True},
        results={},
    ),
    Scenario(
        name="npu",
        workflow="npu",
        event="workflow_dispatch",
        told={"inputs": {"target": MAIN, "push": "true"}},
        has_npu=True,
        results=_good("npu"),
        check=_recorded,
    ),
    Scenario(
        name="release",
        workflow="release",
        event="workflow_dispatch",
        told={"inputs": {"target": MAIN}},
        has_npu=True,
        results=_good("publish", "record"),
        check=_released,
    ),
    Scenario(
        name="release-without-npu",
        workflow="release",
        event="workflow_dispatch",
        told={"inputs": {"target": MAIN}},
        results={"publish": "failure"},
        failing=("Build and test",),
    ),
    Scenario(
        name="retention",
        workflow="retention",
        event="schedule",
        results=_good("prune"),
    ),
    Scenario(
        name="retention-removes",
        workflow="retention",
        event="workflow_dispatch",
        told={"inputs": {"remove": "true"}},
        results=_good("prune"),
    ),
    Scenario(
        name="gitlab-push",
        workflow=GITLAB,
        event="push",
        told={"CI_PIPELINE_SOURCE": "push"},
        environment=SAMPLE,
        results=_good("check", "suite", "plan", "build", "pages"),
    ),
    Scenario(
        name="gitlab-npu",
        workflow=GITLAB,
        event="schedule",
        told={"CI_PIPELINE_SOURCE": "schedule", "CANNERY_NPU": "yes", "CANNERY_TARGET": MAIN},
        has_npu=True,
        results=_good("npu"),
    ),
    Scenario(
        name="gitlab-prune",
        workflow=GITLAB,
        event="schedule",
        told={"CI_PIPELINE_SOURCE": "schedule", "CANNERY_PRUNE": "yes"},
        results=_good("prune"),
    ),
    Scenario(
        name="gitlab-tag",
        workflow=GITLAB,
        event="tag",
        told={"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_TAG": "v1.0", "CANNERY_TARGET": MAIN},
        has_npu=True,
        results=_good("publish"),
    ),
)
