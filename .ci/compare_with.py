#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the commit for 'build.py ci --since' in a run of CI, or nothing if it builds all targets.

A pull request is compared with what it is merged into, and a push with the newest commit of its
branch whose run was green: a run that failed or was cancelled is made up for by the next one. Runs
by hand and by a schedule build all targets.

The variables of GitHub or GitLab say which run it is. GH_TOKEN is GitHub's token (actions: read),
CI_JOB_TOKEN that of GitLab.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

_RUNS = 50
_SECONDS = 30
_MOST = 10_000_000


def main() -> int:
    """Print the commit."""
    env = os.environ
    if env.get("GITHUB_ACTIONS"):
        # It is checked out as a merge commit, whose first parent is the branch that it goes into.
        merged_into, event = "HEAD^1", env["GITHUB_EVENT_NAME"]
        asks_for_merge, green = event == "pull_request", _green_on_github
    elif env.get("GITLAB_CI"):
        merged_into = env.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", "")
        event = env["CI_PIPELINE_SOURCE"]
        asks_for_merge, green = event == "merge_request_event", _green_on_gitlab
    else:
        _tell("this is no run of GitHub or GitLab. Name a commit to build.py: ci --since COMMIT")
        return 2
    if asks_for_merge:
        print(merged_into)
    elif event == "push":
        try:
            print(_newest_here(green()))
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            _tell(f"the service does not say which runs were green ({error}): all targets")
    return 0


def _newest_here(commits: Iterable[str]) -> str:
    """The first of ``commits`` that this clone has. After a forced push it may lack some."""
    for commit in commits:
        argv = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
        if re.fullmatch(r"[0-9a-f]{40,64}", commit) and _succeeds(argv):
            return commit
    _tell("this clone has no commit whose run was green: all targets")
    return ""


def _succeeds(argv: Sequence[str]) -> bool:
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _green_on_github() -> Iterator[str]:
    env = os.environ
    branch = env["GITHUB_REF_NAME"]
    query = urlencode({"branch": branch, "status": "success", "per_page": _RUNS})
    address = f"{env['GITHUB_API_URL']}/repos/{env['GITHUB_REPOSITORY']}/actions/workflows/ci.yml"
    asked = _asked(f"{address}/runs?{query}", "Authorization", f"token {env['GH_TOKEN']}")
    for run in asked["workflow_runs"]:
        # A fork's branch can have the same name; its runs are those of pull requests.
        if run["conclusion"] == "success" and run["event"] != "pull_request":
            yield run["head_sha"]


def _green_on_gitlab() -> Iterator[str]:
    """The job 'green' comes last and has an environment, whose deployments are kept."""
    env = os.environ
    asked = {"environment": "green", "status": "success", "order_by": "id", "sort": "desc"}
    query = urlencode({**asked, "per_page": _RUNS})
    address = f"{env['CI_API_V4_URL']}/projects/{env['CI_PROJECT_ID']}/deployments?{query}"
    for deployment in _asked(address, "JOB-TOKEN", env["CI_JOB_TOKEN"]):
        if deployment["status"] == "success" and deployment["ref"] == env["CI_COMMIT_BRANCH"]:
            yield deployment["sha"]


def _asked(address: str, header: str, value: str) -> Any:
    request = Request(address, headers={header: value})  # noqa: S310 - the service's own address
    with urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
        return json.loads(response.read(_MOST))


def _tell(text: str) -> None:
    print(f"compare_with: {text}", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
