# SPDX-License-Identifier: Apache-2.0
"""Finds out what is being built from, and by whom, for an image's provenance."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from cannery.errors import EngineError, Problem
from cannery.execute import engine
from cannery.execute.process import run
from cannery.provenance import LOCAL_BUILDER, Builder, Source

_VERSION = re.compile(r"\bv?([0-9]+\.[0-9][^\s]*)")


def source(root: Path) -> Source:
    """The commit that the checkout ``root`` is at, and whether files there differ from it.

    The records of releases do not count: images are not made from them, and every push adds one.

    Raises:
        EngineError: it is no git checkout, or git is missing.
    """
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--", ".", ":(exclude)releases")
    code, said = run(["git", "-C", str(root), "remote", "get-url", "origin"], capture=True)
    return Source(commit=commit, repository="" if code else said.strip(), changed=bool(changed))


def _git(root: Path, *words: str) -> str:
    code, said = run(["git", "-C", str(root), *words], capture=True)
    if code:
        what = f"git does not know the commit of {root}: {said.strip()}."
        raise EngineError(Problem(what=what, fix="Publish from a git checkout."))
    return said.strip()


def builder(environ: Mapping[str, str] = os.environ) -> Builder:
    """Who builds here: a job of GitHub's or GitLab's, by the variables it has, or some machine.

    Raises:
        EngineError: the engine does not answer.
    """
    identity, invocation = _job(environ)
    code, said = run(["docker", "buildx", "version"], capture=True)
    found = None if code else _VERSION.search(said)
    return Builder(
        id=identity,
        invocation=invocation,
        engine=str(engine.connect().version()["Version"]),
        buildx=found[1] if found else "",
    )


def _job(environ: Mapping[str, str]) -> tuple[str, str]:
    """What defines the job, and where that run of it can be looked at."""
    if environ.get("GITHUB_ACTIONS") == "true":
        server, repository = environ["GITHUB_SERVER_URL"], environ["GITHUB_REPOSITORY"]
        run_id, attempt = environ["GITHUB_RUN_ID"], environ.get("GITHUB_RUN_ATTEMPT", "1")
        place = f"{server}/{repository}/actions/runs/{run_id}/attempts/{attempt}"
        return f"{server}/{environ['GITHUB_WORKFLOW_REF']}", place
    if environ.get("GITLAB_CI") == "true":
        runner = f"{environ['CI_PROJECT_URL']}/-/runners/{environ['CI_RUNNER_ID']}"
        return runner, environ["CI_JOB_URL"]
    return LOCAL_BUILDER, ""
