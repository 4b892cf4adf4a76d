# SPDX-License-Identifier: Apache-2.0
"""Trains tiny models of transformers and generates with them, on the CPU and on the device.

Prints for each model a line of JSON. Arguments: the names of models; all when there are none.
"""

import copy
import json
import multiprocessing
import sys
import traceback
from typing import Any

import torch
import torch_npu
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

STEPS = 4
NEW_TOKENS = 8
LONGEST = 600  # seconds for one model
WORDS = 64
SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
# What a type of model needs beside SIZES, or instead of it.
MODELS: "dict[str, dict[str, Any]]" = {
    "bart": {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "decoder_start_token_id": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "forced_eos_token_id": None,
    },
    "bloom": {"n_layer": 2, "n_head": 4},
    "deepseek_v3": {
        "num_key_value_heads": 4,
        "q_lora_rank": 16,
        "kv_lora_rank": 16,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
        "first_k_dense_replace": 1,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "n_group": 1,
        "topk_group": 1,
    },
    "falcon": {"new_decoder_architecture": False, "multi_query": True, "alibi": False},
    "gemma2": {"head_dim": 8, "sliding_window": 8},
    "gemma3_text": {"head_dim": 8, "sliding_window": 8},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "gpt_neox": {},
    "llama": {},
    "mamba": {"state_size": 8},
    "mistral": {"sliding_window": 8},
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 32},
    "phi3": {},
    "qwen2": {},
    "qwen3": {"head_dim": 8},
    "qwen3_moe": {**EXPERTS, "head_dim": 8},
    "t5": {
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 64,
        "num_layers": 2,
        "num_decoder_layers": 2,
        "num_heads": 4,
        "decoder_start_token_id": 0,
    },
}


def built(name: str) -> Any:
    """The model with random weights, without dropout, so that two trainings can be compared."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(name, **{**SIZES, **MODELS[name]})
    for setting in vars(config):
        if setting.endswith(("dropout", "pdrop", "dropout_rate")):
            setattr(config, setting, 0.0)
    kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    return kind.from_config(config)


def trained(model: Any, device: str) -> "dict[str, Any]":
    """The losses of a few steps on one batch, and the tokens that are generated after them."""
    model = copy.deepcopy(model).to(device)
    tokens = torch.randint(3, WORDS, (4, 16), generator=torch.Generator().manual_seed(0))
    tokens = tokens.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)
    model.train()
    losses = []
    for _ in range(STEPS):
        loss = model(input_ids=tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    begin = tokens[:2, :6]
    mask = torch.ones_like(begin)
    made = model.generate(
        begin,
        attention_mask=mask,
        do_sample=False,
        min_new_tokens=NEW_TOKENS,
        max_new_tokens=NEW_TOKENS,
    )
    return {"losses": losses, "tokens": made.cpu().tolist()}


def compare(name: str, to: Any) -> None:
    """Sends the results on both devices, or an error's text."""
    try:
        model = built(name)
        to.send({"cpu": trained(model, "cpu"), "npu": trained(model, "npu")})
    except Exception:  # noqa: BLE001 - the parent process reports it
        to.send({"error": traceback.format_exc()[-1500:]})


def result(name: str) -> "dict[str, Any]":
    """What ``compare`` sends from a process of its own, so that the next meets no error of it."""
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    process = fork.Process(target=compare, args=(name, there))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(LONGEST) else {"error": f"no result in {LONGEST} s"}
    except EOFError:
        process.join()
        return {"error": f"the process ended with {process.exitcode}"}
    finally:
        process.kill()
        process.join()


def main() -> None:
    """Runs as a program."""
    assert torch_npu.__version__  # imported for the device that it registers
    for name in sys.argv[1:] or MODELS:
        print(json.dumps({"model": name, **result(name)}), flush=True)


if __name__ == "__main__":
    main()
