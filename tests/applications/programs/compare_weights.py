# SPDX-License-Identifier: Apache-2.0
"""Prints how many tensors of the model in the second folder differ from those in the first."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file


def weights(folder: str) -> "dict[str, torch.Tensor]":
    """The tensors of all files in the folder, by name."""
    files = sorted(Path(folder).glob("*.safetensors"))
    return {name: each for file in files for name, each in load_file(file).items()}


def main() -> None:
    """Prints JSON, in one line."""
    old, new = weights(sys.argv[1]), weights(sys.argv[2])
    changed = sum(not torch.equal(new[name], old[name]) for name in old if name in new)
    finite = all(bool(each.isfinite().all()) for each in new.values())
    print(json.dumps({"tensors": len(new), "of": len(old), "changed": changed, "finite": finite}))


if __name__ == "__main__":
    main()
