# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

from tests.workflows.sessions import SESSIONS
from tests.workflows.steps import ROOT, STEPS

LINES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
ROWS = [line for line in LINES if line.startswith("| `nox -s ")]


def test_contributing_lists_every_session_once_on_one_screen() -> None:
    listed = [name for row in ROWS for name in row.split("`")[1].split()[2:]]
    assert sorted(listed) == sorted(SESSIONS)
    assert len(ROWS) <= 20
    assert all(len(row) <= 120 for row in ROWS)


def test_ci_runs_the_default_sessions_and_those_that_only_an_engine_can_answer() -> None:
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    match = re.search(r"nox.options.sessions = \[([^]]*)\]", text)
    assert match
    default = {*re.findall(r'"([\w-]+)"', match[1])}
    workflow = "\n".join(step.script for name, step in STEPS.items() if name.startswith("ci/"))
    called = {word for run in re.findall(r"nox -s ([a-z -]+)", workflow) for word in run.split()}
    assert called == {*default, "engine-ci"}
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [
        line.partition(" nox")[2] for line in lines if line.startswith("bash setup.sh --tests")
    ] == [
        " || code=$?",
        " -s engine-ci || code=$?",
    ]


def test_all_other_tests_run_every_night() -> None:
    scripts = "\n".join(step.script for name, step in STEPS.items() if name.startswith("nightly/"))
    assert "nox -t full" in scripts
