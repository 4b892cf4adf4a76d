# SPDX-License-Identifier: Apache-2.0
"""The jobs of hosted runners, in an imitation of one without a network.

'check' runs whole. Of the jobs with an engine only setup.sh runs, because their sessions need an
engine of the runner's own, and a test that they skip without cosign.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosted_runner.runner import PYTHON, SOCKET, Runner, make_runner
from tests.workflows.steps import STEPS, WORKFLOWS

ENGINE = ("--user=root", f"--volume={SOCKET}:{SOCKET}")

SETUPS = sorted(
    {
        step.script.partition(" nox ")[0]
        for name, step in STEPS.items()
        if name.startswith(("ci/", "nightly/")) and "setup.sh --tests=full nox" in step.script
    }
)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return make_runner(tmp_path)


def test_the_job_check_passes(runner: Runner) -> None:
    job = WORKFLOWS["ci"]["jobs"]["check"]
    assert PYTHON in job["strategy"]["matrix"]["python"]
    for step in job["steps"]:
        if "run" in step:
            done = runner.run(step["run"])
            print(done.stdout)
            assert done.returncode == 0


@pytest.mark.parametrize("setup", SETUPS)
def test_setup_continues_without_the_debian_only_programs(runner: Runner, setup: str) -> None:
    signatures = "pytest -q -rs tests/publish/test_signature.py"
    done = runner.run(f"{setup} {signatures}", *ENGINE)
    print(done.stdout)
    assert done.returncode == 0
    assert "setup: cosign is not installed, and only Debian has a package of it" in done.stdout
    assert "cosign is not installed, so this was not tested: signatures" in done.stdout
