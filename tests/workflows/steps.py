# SPDX-License-Identifier: Apache-2.0
"""The steps of the workflows, and two ways to try one without the service that it is for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cannery.building.ci_jobs import Job, to_gitlab

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
GITLAB = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text(encoding="utf-8"))
_BASH = ("/bin/bash", "--noprofile", "--norc", "-eo", "pipefail")
"""How both services start a script (docs.github.com, "Workflow syntax", shell: bash)."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A script of a workflow; ``env`` is as it is written, expressions and all."""

    name: str
    script: str
    env: Mapping[str, str]


def _github() -> list[Step]:
    return [
        Step(
            name=f"{workflow}/{job}/{step['name']}",
            script=step["run"],
            env={**content.get("env", {}), **jobs.get("env", {}), **step.get("env", {})},
        )
        for workflow, content in WORKFLOWS.items()
        for job, jobs in content["jobs"].items()
        for step in jobs["steps"]
        if "run" in step
    ]


def scripts(pipeline: Mapping[str, Any], name: str) -> list[Step]:
    """The scripts of a GitLab pipeline; the services start each as one."""
    return [
        Step(
            name=f"{name}/{job}/{key}",
            script="\n".join(content[key]),
            env=content.get("variables", {}),
        )
        for job, content in pipeline.items()
        for key in ("script", "after_script")
        if isinstance(content, dict) and key in content
    ]


STEPS = {step.name: step for step in [*_github(), *scripts(GITLAB, "gitlab")]}


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a script did: ``output`` and ``summary`` are what it left for the service."""

    code: int
    said: str
    output: str
    summary: str
    commands: list[list[str]]


class Machine:
    """A scratch folder in which scripts run as a runner would run them."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.folder = folder
        self.checkout = checkout
        self.fakes = folder / "fakes"
        self.log = folder / "commands"
        for path in (self.fakes, folder / "temp", folder / "home"):
            path.mkdir()

    def fake(self, *names: str) -> None:
        """Let the programs ``names`` only write down their call, and name a target if asked."""
        for name in names:
            path = self.fakes / name
            path.write_text(
                f"#!{sys.executable}\nimport json, sys\n"
                f"with open({str(self.log)!r}, 'a') as stream:\n"
                f"    print(json.dumps([{name!r}, *sys.argv[1:]]), file=stream)\n"
                f"if 'names' in sys.argv:\n    print('a-target')\n",
                encoding="utf-8",
            )
            path.chmod(0o755)

    def run(self, step: Step, values: Mapping[str, str]) -> Done:
        """Run the script of ``step``; ``values`` are what its expressions come to."""
        env = {**step.env, **values}
        assert not [name for name, text in env.items() if "${{" in str(text)], "give it a value"
        files = {name: self.folder / name for name in ("output", "summary")}
        for path in (*files.values(), self.log):
            path.write_text("", encoding="utf-8")
        own = {
            "PATH": f"{self.fakes}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "CI": "true",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "CI_BUILDS_DIR": str(self.folder / "temp"),
            "CI_JOB_ID": "1",
            "GITHUB_ACTOR": "somebody",
            "GITHUB_OUTPUT": str(files["output"]),
            "GITHUB_STEP_SUMMARY": str(files["summary"]),
            "GIT_CONFIG_NOSYSTEM": "1",
            "DOCKER_HOST": "unix:///nonexistent/docker.sock",
        }
        done = subprocess.run(
            [*_BASH, "-c", step.script],
            cwd=self.checkout,
            env={**own, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return Done(
            code=done.returncode,
            said=done.stdout,
            output=files["output"].read_text(encoding="utf-8"),
            summary=files["summary"].read_text(encoding="utf-8"),
            commands=[json.loads(line) for line in lines],
        )


def project_files() -> Sequence[str]:
    """The project's own files, with those that are not committed yet."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    said = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return sorted({name for name in said.split("\0") if name and (ROOT / name).is_file()})


def copy_project(folder: Path) -> None:
    """Copy the project into ``folder``, with an environment that setup.sh takes for its own."""
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    venv = folder / ".venv" / "bin"
    venv.mkdir(parents=True)
    for program in Path(sys.executable).parent.iterdir():
        (venv / program.name).symlink_to(program)
    python = venv / "python"
    python.unlink(missing_ok=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    shutil.copy2(ROOT / "requirements-dev.txt", folder / ".venv" / ".requirements")


MAIN = "py39-torch231-cann8t39"
CHILD = {
    step.name: step
    for step in scripts(
        yaml.safe_load(
            to_gitlab(
                [Job(index=1, count=1, platform="linux/arm64", targets=(MAIN,))], simulate=True
            )
        ),
        "child",
    )
}
"""The jobs of the pipeline that GitLab is given for the builds."""

VALUES = {"TARGETS": f"{MAIN} other", "PATTERN": "*", "ARTIFACTS": "vendor"}
