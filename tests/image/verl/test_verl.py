# SPDX-License-Identifier: Apache-2.0
"""verl."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]


def test_imports(probe: Any, record: Facts) -> None:
    """verl imports, in the target's version."""
    answer = probe("imports", "verl", "verl.trainer.main_ppo", env="HYDRA_FULL_ERROR=1")
    for name, said in answer.items():
        if name.startswith("verl"):
            assert not said["error"], said["error"]
    assert answer["verl"]["version"] == record["components"]["verl"]


def test_trainer(host: Host, devlib: str) -> None:
    """Its trainer for PPO starts and prints its configuration."""
    result = host.run(f"{devlib} python3 -m verl.trainer.main_ppo --cfg job")
    assert result.rc == 0, result.stdout + result.stderr
    assert "actor_rollout_ref:" in result.stdout


def test_device(host: Host, devlib: str) -> None:
    """It takes the CPU for its device where there is no driver."""
    program = "from verl.utils.device import get_device_name; print(get_device_name())"
    result = host.run(f"{devlib} python3 -c %s", program)
    assert result.rc == 0, result.stderr
    assert result.stdout.split()[-1] == "cpu"
