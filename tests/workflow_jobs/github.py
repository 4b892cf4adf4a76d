# SPDX-License-Identifier: Apache-2.0
"""Runs the jobs of .github/workflows with act, which is a dependency of this session."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.unit.changes import git
from tests.workflow_jobs.place import IMAGE, REPOSITORY, Place
from tests.workflow_jobs.service import TOKEN
from tests.workflows.steps import ROOT

LABELS = ("ubuntu-24.04-arm", "ubuntu-24.04", "self-hosted")
ACTIONS = Path(__file__).parent / "actions"


@dataclass(frozen=True, kw_only=True)
class Ran:
    """Results by name: of jobs, and of the steps of each job."""

    jobs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, dict[str, str]] = field(default_factory=dict)


def used_actions() -> list[str]:
    """The actions of the workflows, each with its commit."""
    paths = (ROOT / ".github" / "workflows").glob("*.yml")
    found = (re.findall(r"uses: (\S+@\S+)", path.read_text(encoding="utf-8")) for path in paths)
    return sorted({each for names in found for each in names})


def path_of(workflow: str) -> str:
    """The path of a workflow's file in the repository."""
    return f".github/workflows/{workflow}.yml"


def event(name: str, place: Place, **more: Any) -> dict[str, Any]:
    """What GitHub tells a workflow of the event that has started it."""
    head = git(place.workspace, "rev-parse", "HEAD")
    before = git(place.workspace, "rev-parse", "HEAD^1")
    told: dict[str, Any] = {
        "repository": {"default_branch": "main", "full_name": REPOSITORY},
        **more,
    }
    if name == "push":
        told |= {"before": before, "after": head}
    if name != "pull_request":
        told["ref"] = "refs/heads/main"
    else:
        request = {"ref": "topic", "sha": head, "repo": {"fork": told.pop("fork", False)}}
        told["pull_request"] = {"head": request, "base": {"ref": "main", "sha": before}}
    return told


def run(
    workflow: str, name: str, place: Place, told: Mapping[str, Any], env: Mapping[str, str]
) -> Ran:
    """Run the jobs that ``workflow`` has for the event ``name``."""
    path = place.root / "event.json"
    path.write_text(json.dumps(told), encoding="utf-8")
    argv = [
        *("act", name, "--json", "--directory", str(place.workspace), "--eventpath", str(path)),
        *("--workflows", str(ROOT / path_of(workflow))),
        # The stand-in of 'checkout' makes the clone, in a folder that the engine can see.
        *("--bind", "--no-skip-checkout"),
        *("--pull=false", "--rm", "--concurrent-jobs=1", "--no-cache-server"),
        # The container's Python, of those in the matrix of 'check'.
        "--matrix=python:3.11",
        *("--action-offline-mode", "--actor=someone"),
        *(f"--platform={label}={IMAGE}" for label in LABELS),
        *(f"--local-repository={each}={ACTIONS / each.split('@')[0]}" for each in used_actions()),
        f"--container-options={' '.join(place.container)}",
        *(f"--env={key}={value}" for key, value in {**place.environment, **env}.items()),
        # act takes the last commit of an earlier job for the event's.
        f"--env=JOBS_COMMIT={git(place.workspace, 'rev-parse', 'HEAD')}",
        f"--env=GITHUB_WORKFLOW_REF={REPOSITORY}/{path_of(workflow)}@{told.get('ref', '')}",
        *(f"--var={key}={value}" for key, value in place.variables.items()),
        *(f"--secret={key}" for key in ("GITHUB_TOKEN", *place.secrets)),
    ]
    secrets = {"GITHUB_TOKEN": TOKEN, **place.secrets}
    process = subprocess.Popen(
        argv,
        env={**os.environ, **secrets},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    ran = Ran()
    for line in process.stdout:
        _note(line, ran)
    process.wait()
    return ran


def _note(line: str, ran: Ran) -> None:
    """Show a line of the log, and keep the results in it."""
    try:
        said = json.loads(line)
    except ValueError:
        print(line, end="", flush=True)
        return
    job = said.get("jobID", "")
    print(f"[{job}] {said['msg']}".rstrip(), flush=True)
    if result := said.get("jobResult"):
        # Of a job with a matrix, one failure is a failure of all.
        ran.jobs[job] = "failure" if ran.jobs.get(job) == "failure" else result
    if (result := said.get("stepResult")) and said.get("stage") == "Main":
        nested: Sequence[str] = said.get("stepID", [])
        if len(nested) == 1:
            name = said["step"].split("@")[0]
            ran.steps.setdefault(job, {})[name] = result
