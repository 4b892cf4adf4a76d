# SPDX-License-Identifier: Apache-2.0
"""The program that shows that a container has two cards of the simulated device."""

COMPUTES = (
    "python3",
    "-c",
    "import torch, torch_npu; print(torch.npu.device_count(), (torch.ones(2).npu() + 1).tolist())",
)
COMPUTED = "2 [2.0, 2.0]"
