# SPDX-License-Identifier: Apache-2.0
"""vLLM, with the Ascend plugin."""

from __future__ import annotations

import re
from typing import Any

import pytest
from testinfra.backend.base import CommandResult
from testinfra.host import Host

Facts = dict[str, Any]

PLATFORM = """
import torch
import vllm
from vllm.platforms import current_platform
where = current_platform.device_type
print('found', vllm.__version__, type(current_platform).__module__, where, torch.__version__)
print('sum', float(torch.arange(4, dtype=torch.float32, device=where).sum()))
"""


def test_packages(facts: Facts, locked: Any) -> None:
    """vLLM and its plugin are of the same version; vLLM was built without a device of its own."""
    version = facts["distributions"]["vllm-ascend"]["version"]
    assert version in locked("vllm-ascend")
    assert facts["distributions"]["vllm"]["version"] == f"{version}+empty"


@pytest.mark.runs(command="vllm --help")
def test_command(ran: CommandResult) -> None:
    """The vllm command starts and finds the plugin's platform without a device."""
    assert ran.rc == 0, ran.stderr
    assert re.search(r"\bserve\b", ran.stdout), ran.stdout
    assert "Platform plugin ascend is activated" in ran.stdout + ran.stderr


@pytest.mark.runs(command="python3 -c 'import vllm.entrypoints.openai.api_server'")
def test_server(ran: CommandResult) -> None:
    """The module of vLLM's HTTP server can be imported, with all that it needs."""
    assert ran.rc == 0, ran.stderr


@pytest.mark.device
def test_worker(host: Host, record: Facts) -> None:
    """What each worker asks first: whether the plugin was built for the chip of the device."""
    if record["components"]["vllm"] == "0.7.3":
        pytest.skip("vllm-ascend 0.7.3 does not ask for the chip")
    code = "from vllm_ascend.utils import check_ascend_device_type as check; check()"
    result = host.run("python3 -c %s", code)
    assert result.rc == 0, result.stderr


@pytest.mark.device
def test_platform(host: Host, record: Facts, locked: Any) -> None:
    """vLLM takes the NPU for its platform, and the locked torch computes on it."""
    result = host.run("python3 -c %s", PLATFORM)
    assert result.rc == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    [found] = [line[1:] for line in lines if line[:1] == ["found"]]
    version = record["wheels"]["vllm"].partition("+")[0]
    assert found[:3] == [version, "vllm_ascend.platform", "npu"], result.stdout
    assert found[3] in locked("torch")
    assert ["sum", "6.0"] in lines, result.stdout
