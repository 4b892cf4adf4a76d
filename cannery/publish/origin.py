# SPDX-License-Identifier: Apache-2.0
"""Finds out who builds, for an image's provenance."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from cannery.common.process import run
from cannery.engine import client as engine
from cannery.publish.provenance import LOCAL_BUILDER, Builder

_GITHUB = {"GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_WORKFLOW_REF"}
_GITLAB = {"CI_PROJECT_URL", "CI_RUNNER_ID", "CI_JOB_URL"}
"""What names a job; a runner that imitates the service may not set all of them."""

_VERSION = re.compile(r"\bv?([0-9]+\.[0-9][^\s]*)")


def builder(*, finished: str, environ: Mapping[str, str] = os.environ) -> Builder:
    """Who builds here: a job of GitHub's or GitLab's, by the variables it has, or some machine.

    ``finished`` is when an image was built, where that is known.

    Raises:
        EngineError: the engine does not answer.
    """
    identity, invocation = _job(environ)
    code, said = run(["docker", "buildx", "version"], capture=True)
    found = None if code else _VERSION.search(said)
    return Builder(
        id=identity,
        invocation=invocation,
        finished=finished,
        engine=str(engine.connect().version()["Version"]),
        buildx=found[1] if found else "",
    )


def _job(environ: Mapping[str, str]) -> tuple[str, str]:
    """What defines the job, and where that run of it can be looked at."""
    if environ.get("GITHUB_ACTIONS") == "true" and environ.keys() >= _GITHUB:
        server, repository = environ["GITHUB_SERVER_URL"], environ["GITHUB_REPOSITORY"]
        run_id, attempt = environ["GITHUB_RUN_ID"], environ.get("GITHUB_RUN_ATTEMPT", "1")
        place = f"{server}/{repository}/actions/runs/{run_id}/attempts/{attempt}"
        return f"{server}/{environ['GITHUB_WORKFLOW_REF']}", place
    if environ.get("GITLAB_CI") == "true" and environ.keys() >= _GITLAB:
        runner = f"{environ['CI_PROJECT_URL']}/-/runners/{environ['CI_RUNNER_ID']}"
        return runner, environ["CI_JOB_URL"]
    return LOCAL_BUILDER, ""
