# SPDX-License-Identifier: Apache-2.0
"""Checks of two ranks: each raises an error where the device is not as it should be."""

import shutil
import tempfile
from typing import Any

from conformance.usage.processes import CARDS, on_ranks
from conformance.usage.single import same, small_model


def join(rank: int, address: str) -> Any:
    """Be that rank of a new group; torch.distributed."""
    import torch
    import torch.distributed as dist

    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=address, rank=rank, world_size=CARDS)
    return dist


def leave(dist: Any) -> None:
    """Wait for the other."""
    dist.barrier()
    dist.destroy_process_group()


def data_parallel_rank(rank: int, address: str) -> None:
    """Half of the rows, and the gradients of all."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    dist = join(rank, address)
    torch.manual_seed(5)
    inputs = torch.randn(8, 8)
    alone = small_model()
    (alone(inputs) ** 2).mean().backward()
    model = DistributedDataParallel(small_model().npu(), device_ids=[rank])
    (model(inputs.chunk(CARDS)[rank].npu()) ** 2).mean().backward()
    for one, other in zip(model.parameters(), alone.parameters()):
        same(one.grad, other.grad)
    leave(dist)


def collectives_rank(rank: int, address: str) -> None:
    """Values that differ in every rank and place."""
    import torch

    dist = join(rank, address)
    values = torch.arange(4.0).npu() + rank
    dist.all_reduce(values)
    same(values, 2 * torch.arange(4.0) + 1, 0)
    parts = [torch.empty(2).npu() for _ in range(CARDS)]
    dist.all_gather(parts, torch.full((2,), float(rank)).npu())
    same(torch.cat(parts), torch.tensor([0.0, 0.0, 1.0, 1.0]), 0)
    out = torch.empty(2).npu()
    dist.reduce_scatter_tensor(out, torch.arange(4.0).npu())
    same(out, 2 * torch.arange(4.0).chunk(CARDS)[rank], 0)
    # Rank 0 sends 1 and 2 numbers to the ranks, rank 1 sends 3 and 4.
    sent, got = [[1, 2], [3, 4]][rank], [[1, 3], [2, 4]][rank]
    received = torch.empty(sum(got)).npu()
    dist.all_to_all_single(received, torch.full((sum(sent),), float(rank)).npu(), got, sent)
    same(received, torch.tensor([0.0] * got[0] + [1.0] * got[1]), 0)
    objects = [{"rank": rank} if rank == 0 else None]
    dist.broadcast_object_list(objects, 0)
    assert objects == [{"rank": 0}], objects
    leave(dist)


def swapped(dist: Any, tensor: Any, other: int) -> Any:
    """What the other rank has in this one's place, in one batch: both send before they receive."""
    import torch

    got = torch.empty_like(tensor)
    pair = [dist.P2POp(dist.isend, tensor.contiguous(), other)]
    pair.append(dist.P2POp(dist.irecv, got, other))
    for work in dist.batch_isend_irecv(pair):
        work.wait()
    return got


def exchange_rank(rank: int, address: str) -> None:
    """One piece, and many."""
    import torch

    dist = join(rank, address)
    for size in (8, 300_000):
        got = swapped(dist, torch.full((size,), float(rank)).npu(), 1 - rank)
        same(got, torch.full((size,), 1.0 - rank), 0)
    leave(dist)


def pipeline_rank(rank: int, address: str) -> None:
    """Rank 0 has the first layer and rank 1 the second; 4 steps of AdamW in each."""
    import torch

    dist = join(rank, address)
    torch.manual_seed(5)
    stages = [torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)]
    data, target = torch.randn(4, 8), torch.ones(4, 8)
    stage = torch.nn.Linear(8, 8).npu()
    stage.load_state_dict(stages[rank].state_dict())
    parameters = [each for one in stages for each in one.parameters()]
    alone = torch.optim.AdamW(parameters, lr=0.01)
    own = torch.optim.AdamW(stage.parameters(), lr=0.01)
    nothing = torch.zeros(4, 8).npu()
    for _ in range(4):
        alone.zero_grad()
        ((stages[1](stages[0](data).relu()) - target) ** 2).mean().backward()
        alone.step()
        own.zero_grad()
        if rank == 0:
            out = stage(data.npu()).relu()
            swapped(dist, out.detach(), 1)
            out.backward(swapped(dist, nothing, 1))
        else:
            given = swapped(dist, nothing, 0).requires_grad_()
            ((stage(given) - target.npu()) ** 2).mean().backward()
            swapped(dist, given.grad, 0)
        own.step()
    same(stage.weight, stages[rank].weight)
    leave(dist)


def small_language_model() -> Any:
    """Tokens to scores of the next ones."""
    from torch import manual_seed, nn

    manual_seed(5)
    first = (nn.Embedding(32, 64), nn.LayerNorm(64), nn.Linear(64, 128))
    return nn.Sequential(*first, nn.GELU(), nn.Linear(128, 32))


def trained(model: Any, tokens: Any, optimizer: Any) -> Any:
    """A step with limited gradients; its loss."""
    import torch

    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


def fully_sharded_model() -> Any:
    """The language model, each layer sharded by FSDP2, and its optimizer."""
    from torch.distributed.fsdp import fully_shard
    from torch.optim import AdamW

    model = small_language_model().npu()
    for part in model:
        if [*part.parameters()]:
            fully_shard(part)
    fully_shard(model)
    return model, AdamW(model.parameters(), lr=0.01)


def fully_sharded_rank(rank: int, address: str) -> None:
    """Half of the rows; what is saved at the end is loaded into a new model."""
    import torch
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    dist = join(rank, address)
    tokens = torch.arange(256).reshape(8, 32) % 32
    alone = small_language_model()
    of_alone = torch.optim.AdamW(alone.parameters(), lr=0.01)
    model, optimizer = fully_sharded_model()
    for _ in range(3):
        loss = trained(model, tokens.chunk(CARDS)[rank].npu(), optimizer)
        dist.all_reduce(loss)
        same(loss / CARDS, trained(alone, tokens, of_alone))
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    parts, state = get_state_dict(model, optimizer)
    checkpoint.save({"model": parts, "optimizer": state}, checkpoint_id=folder[0])
    again, of_again = fully_sharded_model()
    parts, state = get_state_dict(again, of_again)
    checkpoint.load({"model": parts, "optimizer": state}, checkpoint_id=folder[0])
    set_state_dict(again, of_again, model_state_dict=parts, optim_state_dict=state)
    for one, other in zip(again.parameters(), model.parameters()):
        same(one.full_tensor(), other.full_tensor(), 0)
    leave(dist)
    if rank == 0:
        shutil.rmtree(str(folder[0]))


def data_parallel() -> None:
    """DistributedDataParallel has the gradients of one process with all rows."""
    on_ranks(data_parallel_rank)


def collectives() -> None:
    """Sums, collections, distributions and objects."""
    on_ranks(collectives_rank)


def batch_isend_irecv() -> None:
    """Both ranks send before they receive, in one piece and in many."""
    on_ranks(exchange_rank)


def pipeline() -> None:
    """Two stages of a model train as one process does."""
    on_ranks(pipeline_rank)


def fully_sharded() -> None:
    """FSDP2 trains as one process does with all rows; distributed checkpoints save and load it."""
    on_ranks(fully_sharded_rank)


CHECKS = (data_parallel, collectives, batch_isend_irecv, pipeline, fully_sharded)
