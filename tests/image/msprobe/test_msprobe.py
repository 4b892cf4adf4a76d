# SPDX-License-Identifier: Apache-2.0
"""msprobe, which compares the precision of models."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.backend.base import CommandResult

Facts = dict[str, Any]


def test_version(facts: Facts, locked: Any) -> None:
    """msprobe is the target's version."""
    found = facts["distributions"]["mindstudio-probe"]["version"]
    assert found in locked("mindstudio-probe")


@pytest.mark.runs(command="{devlib} msprobe --help")
def test_command(ran: CommandResult) -> None:
    """The command ``msprobe`` starts and explains itself."""
    assert ran.rc == 0, ran.stdout + ran.stderr
    assert "compare" in ran.stdout


@pytest.mark.runs(command="{devlib} python3 -c 'from msprobe.pytorch import PrecisionDebugger'")
def test_debugger(ran: CommandResult) -> None:
    """Its debugger for PyTorch imports."""
    assert ran.rc == 0, ran.stderr
