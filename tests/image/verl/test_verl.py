# SPDX-License-Identifier: Apache-2.0
"""verl."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.backend.base import CommandResult
from testinfra.host import Host

Facts = dict[str, Any]

PLATFORM = """
from verl.utils.device import get_device_name, is_npu_available
print(get_device_name(), is_npu_available)
"""


def test_imports(probe: Any, locked: Any) -> None:
    """verl imports, in the target's version."""
    answer = probe("imports", "verl", "verl.trainer.main_ppo", env="HYDRA_FULL_ERROR=1")
    for name, said in answer.items():
        if name.startswith("verl"):
            assert not said["error"], said["error"]
    assert answer["verl"]["version"] in locked("verl")


@pytest.mark.runs(command="{devlib} python3 -m verl.trainer.main_ppo --cfg job")
def test_trainer(ran: CommandResult) -> None:
    """Its trainer for PPO starts and prints its configuration."""
    assert ran.rc == 0, ran.stdout + ran.stderr
    assert "actor_rollout_ref:" in ran.stdout


def test_platform(host: Host, devlib: str) -> None:
    """It finds torch_npu and takes its platform, which is not available without a driver."""
    assert _platform(host, devlib) == ["npu", "False"]


@pytest.mark.device
def test_device(host: Host) -> None:
    """It takes the NPU for its device."""
    assert _platform(host) == ["npu", "True"]


def _platform(host: Host, devlib: str = "") -> list[str]:
    """The name of verl's device, and whether an NPU is available to it."""
    result = host.run(f"{devlib} python3 -c %s", PLATFORM)
    assert result.rc == 0, result.stderr
    words: list[str] = result.stdout.split()
    return words[-2:]
