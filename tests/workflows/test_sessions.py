# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tests.workflows.sessions import SESSIONS
from tests.workflows.steps import ROOT

LINES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
ROWS = [line for line in LINES if line.startswith("| `nox -s ")]


def test_contributing_lists_every_session_once_on_one_screen() -> None:
    listed = [name for row in ROWS for name in row.split("`")[1].split()[2:]]
    assert sorted(listed) == sorted(SESSIONS)
    assert len(ROWS) <= 20
    assert all(len(row) <= 120 for row in ROWS)
