# SPDX-License-Identifier: Apache-2.0
"""The events that start the workflows, and what the jobs must have done in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.workflow_jobs import effects, published
from tests.workflow_jobs.place import Place
from tests.workflow_jobs.service import SCANNER
from tests.workflows.steps import MAIN

SAMPLE = {"PYTEST_ADDOPTS": "-p tests.workflow_jobs.sample"}
GITLAB = "gitlab"
_SEAM = "tests/workflow_jobs/simulated_npu"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An event, with the jobs that it starts and their results.

    ``told`` is a part of the event; for GitLab, variables of the pipeline. ``variables`` are those
    of the repository, besides those of all. ``change`` changes the project or the registry
    beforehand, ``failing`` are the steps that fail, and ``check`` asserts what the jobs have done
    outside of their machine.
    """

    name: str
    workflow: str
    event: str
    results: Mapping[str, str]
    told: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    has_npu: bool = False
    failing: tuple[str, ...] = ()
    change: Callable[[Place], None] = effects.nothing
    check: Callable[[Place], None] = effects.nothing


def environment(scenario: Scenario, place: Place) -> dict[str, str]:
    """The variables of the jobs' machine."""
    seam = {"PYTHONPATH": str(place.workspace / _SEAM)} if scenario.has_npu else {}
    return {**scenario.environment, **seam}


def _good(*jobs: str) -> dict[str, str]:
    return dict.fromkeys(jobs, "success")


_SCANS = {"CANNERY_SCAN": "yes"}

SCENARIOS = (
    Scenario(
        name="pages",
        workflow="pages",
        event="push",
        results=_good("make", "publish"),
        check=effects.page,
    ),
    Scenario(
        name="ci",
        workflow="ci",
        event="pull_request",
        told={"action": "synchronize", "fork": True},
        environment=SAMPLE,
        results=_good("check", "suite", "plan", "build", "done"),
        check=effects.built,
    ),
    Scenario(name="nightly", workflow="nightly", event="schedule", results=_good("full")),
    Scenario(
        name="update",
        workflow="update",
        event="schedule",
        change=effects.older,
        results=_good("update", "propose"),
        check=effects.proposed,
    ),
    Scenario(
        name="update-again",
        workflow="update",
        event="workflow_dispatch",
        change=effects.older_with_request,
        results=_good("update", "propose"),
        check=effects.edited,
    ),
    Scenario(
        name="update-scans",
        workflow="update",
        event="schedule",
        variables=SCANNER,
        change=published.published,
        results=_good("update", "propose", "scan"),
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
        check=effects.recorded,
    ),
    Scenario(
        name="release",
        workflow="release",
        event="workflow_dispatch",
        told={"inputs": {"target": MAIN}},
        has_npu=True,
        results=_good("publish", "table", "record"),
        check=effects.released,
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
        name="gitlab-push",
        workflow=GITLAB,
        event="push",
        told={"CI_PIPELINE_SOURCE": "push"},
        environment=SAMPLE,
        results=_good("check", "suite", "plan", "build", "green", "pages"),
    ),
    Scenario(
        name="gitlab-nightly",
        workflow=GITLAB,
        event="schedule",
        told={"CI_PIPELINE_SOURCE": "schedule", "CANNERY_NIGHTLY": "yes"},
        results=_good("nightly"),
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
        name="gitlab-scan",
        workflow=GITLAB,
        event="schedule",
        told={"CI_PIPELINE_SOURCE": "schedule"},
        variables=_SCANS,
        change=published.published,
        results=_good("scan"),
    ),
    Scenario(
        name="gitlab-scan-finds",
        workflow=GITLAB,
        event="schedule",
        told={"CI_PIPELINE_SOURCE": "schedule"},
        variables=_SCANS,
        change=published.vulnerable,
        results={"scan": "failure"},
    ),
    Scenario(
        name="gitlab-tag",
        workflow=GITLAB,
        event="tag",
        told={"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_TAG": "v1.0", "CANNERY_TARGET": MAIN},
        has_npu=True,
        results=_good("publish"),
        check=effects.pushed,
    ),
)
