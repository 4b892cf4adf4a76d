# SPDX-License-Identifier: Apache-2.0
"""vLLM, with the Ascend plugin."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.host import Host

Facts = dict[str, Any]

PLATFORM = """
import torch_npu
import vllm
from vllm.platforms import current_platform
print('found', vllm.__version__, type(current_platform).__module__, current_platform.device_name)
"""


def test_packages(facts: Facts, record: Facts) -> None:
    """vLLM and its plugin are of the same version."""
    for name in ("vllm", "vllm-ascend"):
        version = facts["distributions"][name]["version"].split("+")[0]
        assert version == record["components"]["vllm"]


@pytest.mark.device
def test_platform(host: Host) -> None:
    """vLLM takes the NPU for its platform."""
    result = host.run("python3 -c %s", PLATFORM)
    assert result.rc == 0, result.stderr
    found = [line.split() for line in result.stdout.splitlines() if line.startswith("found")]
    assert found and found[0][2:] == ["vllm_ascend.platform", "npu"], result.stdout
