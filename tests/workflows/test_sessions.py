# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest

from tests.workflows.sessions import SESSIONS
from tests.workflows.steps import ROOT, WORKFLOWS

LINES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
ROWS = [line for line in LINES if line.startswith("| `nox -s ")]


def test_contributing_lists_every_session_once_on_one_screen() -> None:
    listed = [name for row in ROWS for name in row.split("`")[1].split()[2:]]
    assert sorted(listed) == sorted(SESSIONS)
    assert len(ROWS) <= 20
    assert all(len(row) <= 120 for row in ROWS)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_says_what_it_is_in_a_line(name: str) -> None:
    assert SESSIONS[name]
    assert "\n" not in SESSIONS[name]


def test_ci_runs_what_runs_by_default() -> None:
    """The two jobs of the workflow, together, are 'nox' as .ci/run starts it."""
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    match = re.search(r"nox.options.sessions = \[([^]]*)\]", text)
    assert match
    default = re.findall(r'"([\w-]+)"', match[1])
    jobs = WORKFLOWS["ci"]["jobs"]
    runs = [
        step["run"] for name in ("check", "suite") for step in jobs[name]["steps"] if "run" in step
    ]
    assert [word for run in runs for word in run.partition("nox -s ")[2].split()] == default
