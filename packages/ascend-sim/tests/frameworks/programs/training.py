# SPDX-License-Identifier: Apache-2.0
"""Trains a tiny Llama on the device in one of several ways, and plainly on the CPU.

Its argument is the way. The first rank prints the losses of both as JSON, in one line.
"""

import copy
import json
import os
import sys
from typing import Any

import torch
import torch.distributed as dist
import torch_npu
from transformers import LlamaConfig, LlamaForCausalLM

STEPS = 6
WORDS = 64
RATE = 3e-3


def built() -> Any:
    """A model with random weights, the same in every process."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    return LlamaForCausalLM(config)


def batch(device: str) -> Any:
    """The same tokens for all ranks, so that the number of ranks changes no loss."""
    tokens = torch.randint(3, WORDS, (4, 16), generator=torch.Generator().manual_seed(0))
    return tokens.to(device)


def plain(model: Any, device: str) -> "list[float]":
    """The losses of a usual loop."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    tokens, found = batch(device), []
    for _ in range(STEPS):
        loss = model(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def compiled(model: Any) -> "list[float]":
    """torch.compile, in one graph."""
    return plain(torch.compile(model.to("npu"), backend="aot_eager", fullgraph=True), "npu")


def sharded(model: Any) -> "list[float]":
    """FSDP2."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("hccl")
    mesh = init_device_mesh("npu", (dist.get_world_size(),))
    model.to("npu")
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return plain(model, "npu")


def fused_adam(model: Any) -> "list[float]":
    """DeepSpeed's engine with the optimizer that it has for NPUs."""
    import deepspeed
    from deepspeed.ops.adam import FusedAdam

    settings = {
        "train_micro_batch_size_per_gpu": 4,
        "optimizer": {"type": "AdamW", "params": {"lr": RATE, "weight_decay": 0.01}},
        "zero_optimization": {"stage": 2},
        "gradient_clipping": 0.0,
    }
    engine, optimizer, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=settings
    )
    assert isinstance(optimizer.optimizer, FusedAdam), type(optimizer.optimizer)
    tokens, found = batch(engine.device), []
    for _ in range(STEPS):
        loss = engine(input_ids=tokens, labels=tokens).loss
        engine.backward(loss)
        engine.step()
        found.append(loss.item())
    return found


WAYS = {"aot-eager": compiled, "fsdp2": sharded, "fused-adam": fused_adam}


def main() -> None:
    """Runs as a program, also below torchrun."""
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    torch_npu.npu.set_device(rank)
    model = built()
    on_cpu = plain(copy.deepcopy(model), "cpu")
    found = WAYS[sys.argv[1]](model)
    if rank == 0:
        print(json.dumps({"cpu": on_cpu, "npu": found}), flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
