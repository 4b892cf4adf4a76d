# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest

from tests.workflows.sessions import DEFAULT, SESSIONS
from tests.workflows.steps import ROOT, STEPS

LINES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
ROWS = [line for line in LINES if line.startswith("| `nox -s ")]


def test_contributing_lists_every_session_once_on_one_screen() -> None:
    listed = [name for row in ROWS for name in row.split("`")[1].split()[2:]]
    assert sorted(listed) == sorted(SESSIONS)
    assert len(ROWS) <= 20
    assert all(len(row) <= 120 for row in ROWS)


def sessions_in(script: str) -> set[str]:
    return {name for words in re.findall(r"nox -s ([a-z -]+)", script) for name in words.split()}


@pytest.mark.parametrize(
    "steps", [("ci/",), ("gitlab/check/", "gitlab/suite/")], ids=["GitHub", "GitLab"]
)
def test_ci_runs_the_default_sessions_and_engine_ci(steps: tuple[str, ...]) -> None:
    scripts = "\n".join(step.script for name, step in STEPS.items() if name.startswith(steps))
    assert sessions_in(scripts) == {*DEFAULT, "engine-ci"}


def test_ci_run_has_the_default_sessions_and_engine_ci() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^bash setup\.sh --tests\S* (nox.*) \|\|", script, re.MULTILINE) == [
        "nox",
        "nox -s engine-ci",
    ]


@pytest.mark.parametrize("job", ["nightly/", "gitlab/nightly/"])
def test_all_sessions_with_the_tag_full_run_every_night(job: str) -> None:
    scripts = "\n".join(step.script for name, step in STEPS.items() if name.startswith(job))
    assert re.search(r"nox -t full$", scripts, re.MULTILINE)
