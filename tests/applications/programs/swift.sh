#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the tiny model with 'swift sft'; prints its log of losses. Further options are the arguments
# and what TRAINER_OPTIONS has.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
python3 "$here"/tiny_model.py "$work"
# shellcheck disable=SC2086 # several words
swift sft --model model --model_type llama --template dummy --dataset data/numbers.jsonl --torch_dtype bfloat16 \
  --max_length 64 --per_device_train_batch_size 8 --learning_rate 1e-2 --max_steps 8 --logging_steps 1 \
  --save_strategy no --eval_strategy no --split_dataset_ratio 0 --report_to none --lora_dropout 0 \
  --output_dir out ${TRAINER_OPTIONS:-} "$@"
cat out/*/logging.jsonl
