#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains the tiny model with LLaMA-Factory's own command; prints its log of losses.
# Its argument is what it does: lora or full (supervised finetuning), dpo, zero3 (two processes
# with DeepSpeed) or export (lora, and then the merged model, of which it prints what changed).
# TRAINER_OPTIONS has further options.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
python3 "$here"/tiny_model.py "$work"
rate=1e-2
case $1 in
  lora | full) options="--stage sft --dataset numbers --finetuning_type $1" ;;
  export) options="--stage sft --dataset numbers --finetuning_type lora" ;;
  dpo)
    rate=3e-4
    options="--stage dpo --dataset pairs --finetuning_type full --pref_beta 0.5"
    ;;
  zero3)
    export FORCE_TORCHRUN=1 NPROC_PER_NODE=2
    options="--stage sft --dataset numbers --finetuning_type full --deepspeed data/zero3.json"
    ;;
  *)
    echo "unknown argument '$1'" >&2
    exit 2
    ;;
esac
# shellcheck disable=SC2086 # several words
llamafactory-cli train $options --do_train true \
  --model_name_or_path model --dataset_dir data --template default --cutoff_len 64 \
  --per_device_train_batch_size 8 --learning_rate $rate --max_steps 8 --logging_steps 1 --bf16 true \
  --save_strategy no --report_to none --output_dir out ${TRAINER_OPTIONS:-}
cat out/trainer_log.jsonl
[ "$1" = export ] || exit 0
llamafactory-cli export --model_name_or_path model --adapter_name_or_path out --template default \
  --finetuning_type lora --export_dir merged --export_device auto
python3 "$here"/compare_weights.py model merged
