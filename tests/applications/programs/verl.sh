#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the tiny model with verl's trainer for supervised finetuning.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
python3 "$here"/tiny_model.py "$work"
python3 -c "import pandas; pandas.read_json('data/numbers.jsonl', lines=True).to_parquet('data/numbers.parquet')"
torchrun --standalone --nproc_per_node=1 -m verl.trainer.sft_trainer \
  data.train_files=data/numbers.parquet data.messages_key=messages data.micro_batch_size_per_gpu=8 \
  data.train_batch_size=8 data.max_length=64 model.path=model trainer.device=npu \
  trainer.total_training_steps=4 trainer.logger=console trainer.default_local_dir=out \
  trainer.save_freq=-1 trainer.test_freq=-1
