# SPDX-License-Identifier: Apache-2.0
"""LLaMA-Factory."""

from __future__ import annotations

import re
from typing import Any

import pytest
from testinfra.backend.base import CommandResult
from testinfra.host import Host

Facts = dict[str, Any]


@pytest.fixture(scope="module")
def env(host: Host) -> dict[str, str]:
    """What ``llamafactory-cli env`` says."""
    result = host.run("llamafactory-cli env")
    assert result.rc == 0, result.stdout + result.stderr
    return dict(re.findall(r"^- (.+?): (.+)$", result.stdout, re.MULTILINE))


def test_version(env: dict[str, str], locked: Any) -> None:
    """``llamafactory-cli env`` runs, and names this version and the target's torch."""
    assert env["`llamafactory` version"] in locked("llamafactory")
    assert env["PyTorch version"].split()[0] in locked("torch")


@pytest.mark.runs(command="llamafactory-cli train --help")
def test_command(ran: CommandResult) -> None:
    """The command ``llamafactory-cli train`` explains its options."""
    assert ran.rc == 0, ran.stdout + ran.stderr
    assert "--model_name_or_path" in ran.stdout


def test_accelerate(env: dict[str, str], locked: Any) -> None:
    """accelerate is the locked one, which LLaMA-Factory's own requirement may not allow."""
    assert env["Accelerate version"] in locked("accelerate")


@pytest.mark.device
def test_sees_the_npu(env: dict[str, str]) -> None:
    """``llamafactory-cli env`` names the NPU."""
    assert env["PyTorch version"].endswith("(NPU)")
    assert env["NPU type"].startswith("Ascend910")
