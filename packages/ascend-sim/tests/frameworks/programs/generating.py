# SPDX-License-Identifier: Apache-2.0
"""Generates with vLLM on the device, and with transformers on the CPU: the model of tiny_model.py.

Prints the tokens of both as JSON, in one line.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

TINY = Path(__file__).parents[5] / "tests" / "applications" / "programs" / "tiny_model.py"
PROMPTS = [[6 + 7 * row + 3 * place for place in range(5 + row)] for row in range(4)]
NEW_TOKENS = 6


def on_cpu(folder: Path) -> "list[list[int]]":
    """The likeliest tokens after each prompt."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    found = []
    for prompt in PROMPTS:
        tokens = torch.tensor([prompt])
        made = model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=False,
            min_new_tokens=NEW_TOKENS,
            max_new_tokens=NEW_TOKENS,
        )
        found.append(made[0, len(prompt) :].tolist())
    return found


def on_device(folder: Path) -> "list[list[int]]":
    """The same of vLLM's engine, all prompts at once."""
    from vllm import LLM, SamplingParams

    engine = LLM(
        str(folder),
        dtype="bfloat16",
        enforce_eager=True,
        max_model_len=64,
        max_num_seqs=4,
        max_num_batched_tokens=64,
        num_gpu_blocks_override=16,
    )
    asked = SamplingParams(temperature=0, min_tokens=NEW_TOKENS, max_tokens=NEW_TOKENS)
    answers = engine.generate([{"prompt_token_ids": each} for each in PROMPTS], asked)
    return [list(answer.outputs[0].token_ids) for answer in answers]


def main() -> None:
    """Runs as a program."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, str(TINY), name], check=True)  # it computes on the CPU
        folder = Path(name) / "model"
        # vLLM forks its engine, in which OpenMP hangs if this process has computed with threads.
        found = {"npu": on_device(folder), "cpu": on_cpu(folder)}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
