# SPDX-License-Identifier: Apache-2.0
"""Ray."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

Facts = dict[str, Any]


def test_version(host: Host, locked: Any) -> None:
    """The command ``ray`` starts, in the target's version."""
    result = host.run("ray --version")
    assert result.rc == 0, result.stderr
    assert result.stdout.split()[-1] in locked("ray")


def test_knows_npus(host: Host) -> None:
    """It has the part that counts NPUs as a resource."""
    result = host.run(
        "python3 -c 'from ray._private.accelerators import NPUAcceleratorManager as npu; "
        "print(npu.get_resource_name())'"
    )
    assert result.rc == 0, result.stderr
    assert result.stdout.split()[-1] == "NPU"
