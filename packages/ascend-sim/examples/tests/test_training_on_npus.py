# SPDX-License-Identifier: Apache-2.0
"""What a project tests on NPUs: a model that learns, and ranks that agree."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch_npu  # noqa: F401 - registers the device
from torch import nn

RANKS = 2


def test_a_product_is_that_of_the_cpu() -> None:
    """A matrix product on the device is the CPU's."""
    left, right = torch.randn(32, 48), torch.randn(48, 16)
    expected = left.double() @ right.double()
    torch.testing.assert_close((left.npu() @ right.npu()).cpu().double(), expected)


def test_a_model_learns() -> None:
    """The loss falls to a tenth."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.GELU(), nn.Linear(32, 1)).npu()
    inputs = torch.randn(64, 4).npu()
    wanted = inputs.sum(dim=1, keepdim=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10


def _rank(rank: int, address: str) -> None:
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=address, rank=rank, world_size=RANKS)
    value = torch.full((3,), rank + 1.0).npu()
    dist.all_reduce(value)
    assert value.cpu().tolist() == [3.0, 3.0, 3.0]
    dist.destroy_process_group()


def test_two_ranks_agree(tmp_path: os.PathLike[str]) -> None:
    """An all-reduce gives every rank the sum."""
    assert torch.npu.device_count() >= RANKS
    mp.spawn(_rank, args=(f"file://{tmp_path}/meeting",), nprocs=RANKS)
