# SPDX-License-Identifier: Apache-2.0
"""OpenCompass."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.backend.base import CommandResult

Facts = dict[str, Any]


def test_imports(probe: Any, locked: Any) -> None:
    """OpenCompass imports, in the target's version."""
    answer = probe("imports", "opencompass", "opencompass.tasks", "opencompass.models")
    for name in ("opencompass", "opencompass.tasks", "opencompass.models"):
        assert not answer[name]["error"], answer[name]["error"]
    assert answer["opencompass"]["version"] in locked("opencompass")


@pytest.mark.runs(command="opencompass --help")
def test_command(ran: CommandResult) -> None:
    """The command ``opencompass`` starts and explains itself."""
    assert ran.rc == 0, ran.stdout + ran.stderr
    assert "--models" in ran.stdout
