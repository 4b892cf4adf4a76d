# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.changes import commit, git
from tests.workflows.steps import Machine, copy_project


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which the project is checked out, with a server that it came from."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    copy_project(checkout)
    git(checkout, "init", "--quiet", "--initial-branch", "main")
    commit(checkout)
    server = tmp_path / "server.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(checkout), str(server))
    git(checkout, "remote", "add", "origin", str(server))
    return Machine(tmp_path, checkout)
