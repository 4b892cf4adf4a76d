# SPDX-License-Identifier: Apache-2.0
"""What a project tests on several NPUs: the ranks agree with one another and with the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch_npu  # noqa: F401 - registers the device
from torch import nn
from torch.nn.parallel import DistributedDataParallel

RANKS = 2


def _start(rank: int, address: str, work: Callable[[int], None]) -> None:
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=address, rank=rank, world_size=RANKS)
    work(rank)
    dist.destroy_process_group()


def _on_all(work: Callable[[int], None], folder: Path) -> None:
    """Run ``work`` as each rank; an error of one is an error here."""
    assert torch.npu.device_count() >= RANKS
    mp.spawn(_start, args=(f"file://{folder}/meeting", work), nprocs=RANKS)


def _sum(rank: int) -> None:
    value = torch.full((3,), rank + 1.0).npu()
    dist.all_reduce(value)
    assert value.cpu().tolist() == [3.0, 3.0, 3.0]


def test_two_ranks_agree(tmp_path: Path) -> None:
    """An all-reduce gives every rank the sum."""
    _on_all(_sum, tmp_path)


def _mean_of_gradients(rank: int) -> None:
    torch.manual_seed(0)
    model, inputs = nn.Linear(4, 1), torch.randn(RANKS, 8, 4)
    model(inputs.flatten(0, 1)).mean().backward()
    parallel = DistributedDataParallel(nn.Linear(4, 1).npu(), device_ids=[rank])
    parallel.module.load_state_dict(model.state_dict())
    parallel(inputs[rank].npu()).mean().backward()
    torch.testing.assert_close(parallel.module.weight.grad.cpu(), model.weight.grad)


def test_data_parallel_gradients_are_those_of_the_whole_batch(tmp_path: Path) -> None:
    """DistributedDataParallel with two ranks is the CPU with both batches."""
    _on_all(_mean_of_gradients, tmp_path)


def _exchange(rank: int, given: torch.Tensor) -> torch.Tensor:
    """What the other rank gives at the same time."""
    other, received = 1 - rank, torch.empty_like(given)
    operations = [dist.P2POp(dist.isend, given, other), dist.P2POp(dist.irecv, received, other)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return received


def _pipeline(rank: int) -> None:
    torch.manual_seed(0)
    stages, inputs = [nn.Linear(4, 4), nn.Linear(4, 4)], torch.randn(8, 4)
    nn.Sequential(*stages)(inputs).sum().backward()
    expected = stages[rank].weight.grad
    stage = nn.Linear(4, 4).npu()
    stage.load_state_dict(stages[rank].state_dict())
    nothing = torch.zeros(8, 4).npu()
    if rank == 0:
        output = stage(inputs.npu())
        _exchange(rank, output.detach())
        output.backward(_exchange(rank, nothing))
    else:
        received = _exchange(rank, nothing).requires_grad_()
        stage(received).sum().backward()
        _exchange(rank, received.grad)
    torch.testing.assert_close(stage.weight.grad.cpu(), expected)


def test_a_pipeline_of_two_stages_has_the_gradients_of_the_cpu(tmp_path: Path) -> None:
    """Activations go forward and gradients back, each by batch_isend_irecv."""
    _on_all(_pipeline, tmp_path)
