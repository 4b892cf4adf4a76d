# SPDX-License-Identifier: Apache-2.0
"""msprobe, which compares the precision of models."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]


def test_version(facts: Facts, record: Facts) -> None:
    """msprobe is the target's version."""
    found = facts["distributions"]["mindstudio-probe"]["version"]
    assert found == record["components"]["msprobe"]


def test_command(host: Host, devlib: str) -> None:
    """The command ``msprobe`` starts and explains itself."""
    result = host.run(f"{devlib} msprobe --help")
    assert result.rc == 0, result.stdout + result.stderr
    assert "compare" in result.stdout


def test_debugger(host: Host, devlib: str) -> None:
    """Its debugger for PyTorch imports."""
    result = host.run(f"{devlib} python3 -c 'from msprobe.pytorch import PrecisionDebugger'")
    assert result.rc == 0, result.stderr
