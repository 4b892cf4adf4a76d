# SPDX-License-Identifier: Apache-2.0
"""The jobs of ci.yml that run on hosted runners, in an imitation of one without a network.

'check' runs whole. Of 'suite' and 'page' only setup.sh runs, because the sessions need an engine of
the runner's own; what they skip without cosign runs here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosted_runner.runner import PYTHON, SOCKET, Runner, make_runner
from tests.workflows.steps import STEPS, WORKFLOWS

ENGINE = ("--user=root", f"--volume={SOCKET}:{SOCKET}")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return make_runner(tmp_path)


def test_the_job_check_passes(runner: Runner) -> None:
    job = WORKFLOWS["ci"]["jobs"]["check"]
    assert PYTHON in job["strategy"]["matrix"]["python"]
    for step in job["steps"]:
        if "run" in step:
            done = runner.run(step["run"])
            assert done.returncode == 0, done.stdout[-20_000:]


@pytest.mark.parametrize(
    "name", ["suite/Simulator, images, engine and registry", "page/Image and page"]
)
def test_setup_goes_on_without_the_programs_that_only_debian_has(runner: Runner, name: str) -> None:
    setup, _, sessions = STEPS[f"ci/{name}"].script.partition(" nox ")
    assert sessions
    signatures = "pytest -q -rs tests/publish/test_signature.py"
    done = runner.run(f"{setup} {signatures}", *ENGINE)
    assert done.returncode == 0, done.stdout[-20_000:]
    assert "setup: cosign is not installed, and only Debian has a package of it" in done.stdout
    assert "cosign is not installed, so this was not tested: signatures" in done.stdout
