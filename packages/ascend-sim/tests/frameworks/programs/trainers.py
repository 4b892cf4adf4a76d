# SPDX-License-Identifier: Apache-2.0
"""Trains the model of tiny_model.py with a trainer of transformers or TRL.

Its argument is the trainer: plain, sft or dpo. It computes on the device if the host has a card,
else on the CPU, below any launcher; the ranks divide each batch. The first prints the log as JSON.
"""

import json
import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

TINY = Path(__file__).parents[5] / "tests" / "applications" / "programs" / "tiny_model.py"
ROWS = 8
"""Of a batch, of all ranks together."""
SETTINGS = {
    "max_steps": 6,
    "logging_steps": 1,
    "per_device_train_batch_size": ROWS // int(os.environ.get("WORLD_SIZE", "1")),
    "learning_rate": 3e-3,
    "lr_scheduler_type": "constant",
    "save_strategy": "no",
    "report_to": "none",
    "bf16": False,
    "gradient_checkpointing": False,
    "disable_tqdm": True,
}


def plain(folder: Path) -> Any:
    """transformers' own trainer, and rows of tokens."""
    settings = TrainingArguments(str(folder / "out"), **SETTINGS)
    tokens = torch.randint(6, 300, (ROWS, 16), generator=torch.Generator().manual_seed(0))
    rows = [{"input_ids": row, "labels": row} for row in tokens] * 6
    return Trainer(model(folder), settings, train_dataset=rows)


def sft(folder: Path) -> Any:
    """TRL's for supervised finetuning, and conversations."""
    settings = SFTConfig(str(folder / "out"), max_length=64, **SETTINGS)
    lines = (folder / "data" / "numbers.jsonl").read_text().splitlines()
    rows = Dataset.from_list([json.loads(line) for line in lines])
    return SFTTrainer(
        model(folder), settings, train_dataset=rows, processing_class=tokenizer(folder)
    )


def dpo(folder: Path) -> Any:
    """TRL's for preferences, and pairs of answers."""
    settings = DPOConfig(str(folder / "out"), beta=0.5, **{**SETTINGS, "learning_rate": 3e-4})
    rows = [
        {"prompt": row["instruction"], "chosen": row["chosen"], "rejected": row["rejected"]}
        for row in json.loads((folder / "data" / "pairs.json").read_text())
    ]
    return DPOTrainer(
        model(folder),
        args=settings,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer(folder),
    )


def model(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)


def tokenizer(folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(folder / "model")


TRAINERS = {"plain": plain, "sft": sft, "dpo": dpo}


def main() -> None:
    """Runs as a program."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sys.argv[1:], asked = [name], sys.argv[1]
        runpy.run_path(str(TINY), run_name="__main__")
        trainer = TRAINERS[asked](folder)
        trainer.train()
        if trainer.is_world_process_zero():
            print(json.dumps({"device": trainer.args.device.type}), flush=True)
            for entry in trainer.state.log_history:
                print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
