# SPDX-License-Identifier: Apache-2.0
"""Programs that hold Python's lock while they wait for the device: lock_programs.py NAME.

Each first uses an operator that torch carries out on another thread. torch_npu asks for its queue
to be empty when a stream's number is asked for, and newer releases keep the lock meanwhile.
"""

import sys
import tempfile
import threading
from typing import Any

import torch
import torch_npu  # noqa: F401

from conformance.usage.processes import on_ranks
from conformance.usage.ranks import join, leave
from conformance.usage.single import same

TIMES = 50


def limited(rows: Any) -> Any:
    """Rows of a norm of at most 1, and the stream's number again and again."""
    stream = torch.npu.current_stream()
    result = torch.renorm(rows, 2, 0, 1.0)
    for _ in range(TIMES):
        hash(stream)
    return result


class Limited(torch.autograd.Function):  # type: ignore[misc]  # there is no torch here
    @staticmethod
    def forward(_: Any, rows: Any) -> Any:
        return rows.clone()

    @staticmethod
    def backward(_: Any, gradient: Any) -> Any:
        return limited(gradient.contiguous())


class Batch:
    """Rows that go to the device on the thread of a data loader that pins them."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = torch.stack(rows)

    def pin_memory(self) -> "Batch":
        self.rows = limited(self.rows.npu())
        return self


def autograd() -> None:
    rows = torch.randn(64, 64).npu().requires_grad_()
    Limited.apply(rows).sum().backward()
    same(rows.grad, torch.renorm(torch.ones(64, 64), 2, 0, 1.0))


def loader() -> None:
    rows = torch.randn(16, 64)
    torch.zeros(1).npu()
    loading = torch.utils.data.DataLoader(
        list(rows), batch_size=4, collate_fn=Batch, num_workers=1, pin_memory=True
    )
    for batch, expected in zip(loading, rows.split(4)):
        same(batch.rows, torch.renorm(expected, 2, 0, 1.0))


def queue() -> None:
    """Everything is planned on the queue's thread too, with TASK_QUEUE_ENABLE=2."""
    rows = torch.randn(64, 64)
    same(limited(rows.npu()), torch.renorm(rows, 2, 0, 1.0))


def threads() -> None:
    """Four at once, while the main thread computes as well."""
    rows = torch.randn(64, 64)
    found: list[Any] = []
    on_device = rows.npu()
    work = [threading.Thread(target=lambda: found.append(limited(on_device))) for _ in range(4)]
    for thread in work:
        thread.start()
    found.append(limited(on_device))
    for thread in work:
        thread.join()
    for each in found:
        same(each, torch.renorm(rows, 2, 0, 1.0))
    assert len(found) == 5


def model() -> Any:
    torch.manual_seed(5)
    parts = [torch.nn.Embedding(32, 64), torch.nn.LayerNorm(64), torch.nn.Linear(64, 128)]
    return torch.nn.Sequential(*parts, torch.nn.GELU(), torch.nn.Linear(128, 32))


def stepped(trained: Any, tokens: Any, optimizer: Any) -> Any:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(trained(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained.parameters(), 1.0)
    optimizer.step()
    return loss


def sharded_model() -> Any:
    from torch.distributed.fsdp import fully_shard

    sharded = model().npu()
    for part in sharded:
        if [*part.parameters()]:
            fully_shard(part)
    return fully_shard(sharded)


def sharded_rank(rank: int, address: str) -> None:
    """FSDP2 trains as one process does with all rows; the parts are saved and loaded."""
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    dist = join(rank, address)
    tokens = torch.arange(256).reshape(8, 32) % 32
    alone, sharded = model(), sharded_model()
    optimizers = [torch.optim.AdamW(each.parameters(), lr=0.01) for each in (alone, sharded)]
    for _ in range(3):
        loss = stepped(sharded, tokens.chunk(2)[rank].npu(), optimizers[1])
        dist.all_reduce(loss := loss.detach())
        same(loss / 2, stepped(alone, tokens, optimizers[0]), 1e-4)
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    parts, state = get_state_dict(sharded, optimizers[1])
    checkpoint.save({"model": parts, "optimizer": state}, checkpoint_id=folder[0])
    again = sharded_model()
    other = torch.optim.AdamW(again.parameters(), lr=0.01)
    parts, state = get_state_dict(again, other)
    checkpoint.load({"model": parts, "optimizer": state}, checkpoint_id=folder[0])
    set_state_dict(again, other, model_state_dict=parts, optim_state_dict=state)
    for one, two in zip(again.parameters(), sharded.parameters()):
        same(one.full_tensor(), two.full_tensor(), 0)
    leave(dist)


def sharded() -> None:
    on_ranks(sharded_rank)


if __name__ == "__main__":
    {each.__name__: each for each in (autograd, loader, queue, threads, sharded)}[sys.argv[1]]()
    print("done")
