#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Serves the tiny model with 'vllm serve' and prints the answer to one completion.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
python3 "$here"/tiny_model.py "$work"
vllm serve model --served-model-name tiny --port 8000 --max-model-len 64 --enforce-eager \
  --max-num-seqs 4 --max-num-batched-tokens 64 --num-gpu-blocks-override 16 &
server=$!
trap 'kill "$server"; wait "$server" || true' EXIT
python3 "$here"/complete.py "$server"
