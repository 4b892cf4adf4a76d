# SPDX-License-Identifier: Apache-2.0
"""What a project asks the device itself, and how its errors look."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import torch_npu  # noqa: F401 - registers the device

GB = 1 << 30
TRANSFER = """
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
value = torch.ones(3, device="cuda")
assert value.device.type == "npu" and torch.cuda.is_available()
print(value.sum().item())
"""


def test_memory_is_counted() -> None:
    """By torch's allocator, and by the device."""
    before = torch.npu.memory_allocated()
    value = torch.empty(GB // 4, dtype=torch.float32, device="npu")
    assert GB <= torch.npu.memory_allocated() - before < GB + (1 << 20)
    free, total = torch.npu.mem_get_info()
    assert total - free >= GB
    del value
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() >= GB


def test_code_for_cuda_runs() -> None:
    """With transfer_to_npu; in another process, since it changes torch."""
    command = [sys.executable, "-c", TRANSFER]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "3.0"


def test_memory_ends() -> None:
    """Beyond the memory of the card there is torch's error."""
    with pytest.raises(RuntimeError, match="out of memory"):
        torch.empty(torch.npu.mem_get_info()[1] + GB, dtype=torch.uint8, device="npu")


def test_channels_last_is_refused_by_torch_npu() -> None:
    """Before it calls a device: on a card too."""
    with pytest.raises(RuntimeError, match="Only contiguous_format or preserve_format"):
        torch.ones(1, 3, 8, 8).npu().to(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("torch.ones(2, 2).long().npu() @ torch.ones(2, 2).long().npu()", "161002"),
        (
            "torch.nn.functional.cross_entropy(torch.ones(1, 3).npu(), torch.tensor([7]).npu())",
            "507035",
        ),
    ],
)
def test_what_a_910b_refuses_is_refused(expression: str, code: str) -> None:
    """In another process, since torch_npu computes nothing after such an error."""
    program = f"import torch, torch_npu\nprint({expression})"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert code in done.stderr
