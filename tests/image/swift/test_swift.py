# SPDX-License-Identifier: Apache-2.0
"""ms-swift."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.backend.base import CommandResult
from testinfra.host import Host

Facts = dict[str, Any]

# What its guide has people run in a new environment, but for printing in place of asserting.
THREE_LINES = """
from transformers.utils import is_torch_npu_available
import torch

assert is_torch_npu_available()
assert torch.npu.device_count() >= 1
print(torch.randn(10, device='npu:0'))
"""


# 'swift sft --help' of release 4 ends in a parser that knows one option.
@pytest.mark.runs(command="swift infer --help")
def test_command(ran: CommandResult) -> None:
    """The command ``swift`` starts and explains the options of a model."""
    assert ran.rc == 0, ran.stdout + ran.stderr
    assert "--model_type" in ran.stdout


@pytest.mark.device
def test_three_lines(host: Host) -> None:
    """The three-line check of its guide passes."""
    result = host.run("python3 -c %s", THREE_LINES)
    assert result.rc == 0, result.stderr
    assert result.stdout.startswith("tensor([")
