# SPDX-License-Identifier: Apache-2.0
"""Which commit a figure is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.machine import commit
from cannery.common.errors import EngineError
from tests.unit.changes import commit as commit_all
from tests.unit.changes import git


def test_the_commit_of_a_figure(tmp_path: Path) -> None:
    assert commit(tmp_path) == "unknown"
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").touch()
    name = commit_all(tmp_path)[:7]
    (tmp_path / "new").touch()
    assert commit(tmp_path) == name
    (tmp_path / "file").write_text("changed\n", encoding="utf-8")
    assert commit(tmp_path) == f"{name}+"


def test_a_git_that_fails_is_not_an_unknown_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".git" / "HEAD").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(EngineError, match="git rev-parse failed"):
        commit(tmp_path)
