#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the tiny model with LLaMA-Factory's own command; prints its log of losses.
# Its argument is the type of finetuning: lora or full.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
python3 "$here"/tiny_model.py "$work"
llamafactory-cli train --stage sft --do_train true --finetuning_type "$1" \
  --model_name_or_path model --dataset_dir data --dataset numbers --template default --cutoff_len 64 \
  --per_device_train_batch_size 8 --learning_rate 1e-2 --max_steps 8 --logging_steps 1 --bf16 true \
  --save_strategy no --report_to none --output_dir out
cat out/trainer_log.jsonl
