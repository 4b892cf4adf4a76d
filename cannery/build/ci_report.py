# SPDX-License-Identifier: Apache-2.0
"""The jobs of a CI run as a matrix for GitHub, and as a child pipeline for GitLab."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml

from cannery.build.ci_jobs import Job

RUNNERS = {"linux/arm64": "ubuntu-24.04-arm", "linux/amd64": "ubuntu-24.04"}
"""Platform to the label of a runner hosted by GitHub that runs it without emulation."""

TAGS = {"linux/arm64": "cannery-arm64", "linux/amd64": "cannery-amd64"}
"""Platform to the tag of a GitLab runner; docs/ci.md says how to register one."""

_NOTHING = {"stage": "build", "script": ["echo 'No target is concerned.'"]}
"""GitLab refuses a pipeline without any job (gitlab-org/gitlab, issue 331816)."""


def to_github(jobs: Sequence[Job]) -> str:
    """One line of JSON for ``strategy.matrix``."""
    rows = [
        {
            "shard": f"{job.index}/{job.count}",
            "name": f"{job.index}-of-{job.count}",
            "targets": " ".join(job.targets),
            "platform": job.platform,
            "runner": RUNNERS[job.platform],
        }
        for job in jobs
    ]
    return json.dumps({"include": rows}) + "\n"


def to_names(jobs: Sequence[Job]) -> str:
    """The targets of all jobs, one per line."""
    return "".join(f"{name}\n" for job in jobs for name in job.targets)


def to_gitlab(jobs: Sequence[Job], *, simulate: bool) -> str:
    """The text of a child pipeline, which needs only variables from its parent."""
    rows: dict[str, Any] = {
        f"build {job.index}/{job.count}": {
            "extends": ".build",
            "tags": [TAGS[job.platform]],
            "variables": {"TARGETS": " ".join(job.targets)},
        }
        for job in jobs
    }
    pipeline = {"stages": ["build"], ".build": _build(simulate=simulate), **rows}
    if not rows:
        pipeline = {"stages": ["build"], "nothing to build": _NOTHING}
    return yaml.safe_dump(pipeline, sort_keys=False, width=1000)


def _build(*, simulate: bool) -> dict[str, Any]:
    """The part that all jobs share; the runner's shell is bash."""
    flag = " --simulate" if simulate else ""
    caches = " ".join(
        f'${{CANNERY_CACHE_{way.upper()}:+--cache-{way} "$CANNERY_CACHE_{way.upper()}"}}'
        for way in ("from", "to")
    )
    return {
        "stage": "build",
        "timeout": "3 hours",
        "interruptible": True,
        "script": [
            'read -ra names <<<"$TARGETS"',
            f'bash setup.sh python build.py build "${{names[@]/#/--target=}}"{flag} {caches}',
        ],
        "after_script": [
            'read -ra names <<<"$TARGETS"',
            f'.venv/bin/python .ci/summary.py images{flag} "${{names[@]}}"',
        ],
        "artifacts": {"when": "always", "paths": [".cannery/reports"], "expire_in": "30 days"},
    }
