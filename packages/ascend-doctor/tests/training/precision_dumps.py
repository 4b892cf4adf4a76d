# SPDX-License-Identifier: Apache-2.0
"""Dumps of msprobe, as its versions 8.3.0 and 26.2.0 write them for PyTorch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

INF, NAN = float("inf"), float("nan")

Json = dict[str, Any]


def tensor(worst: float = 1.0, dtype: str = "torch.float32") -> Json:
    """A tensor of which ``worst`` is the largest value."""
    low = worst if math.isnan(worst) else -1.5
    return {
        "type": "torch.Tensor",
        "dtype": dtype,
        "shape": [2, 4],
        "Max": worst,
        "Min": low,
        "Mean": worst / 2,
        "Norm": abs(worst) * 2,
        "requires_grad": True,
    }


def scalar(value: float) -> Json:
    return {"type": "float", "value": value}


def forward(*inputs: Json | float, output: float = 1.0, **more: Any) -> Json:
    """A call with ``inputs``, whose numbers are the largest values of tensors."""
    args = [each if isinstance(each, dict) else tensor(each) for each in inputs]
    return {"input_args": args, "input_kwargs": more, "output": [tensor(output)]}


def backward(*inputs: float, output: float = 1.0) -> Json:
    return {"input": [tensor(each) for each in inputs], "output": [tensor(output)]}


def group(*ranks: int) -> Json:
    return {"type": "torch.ProcessGroup", "group_ranks": [*ranks], "group_id": "3a52ddb6"}


def module(data: Json, weight: float = 1.0) -> Json:
    return data | {"parameters": {"weight": tensor(weight), "bias": tensor()}}


OVERFLOW = {
    "Torch.empty.0.forward": forward(output=NAN),
    "Functional.linear.0.forward": forward(1.0, 2.0),
    "Torch.exp.0.forward": forward(90.0, output=INF),
    "Tensor.sub.0.forward": forward(INF, INF, output=NAN),
    "Functional.linear.1.forward": forward(NAN, output=NAN),
    "Functional.linear.1.backward": backward(1.0, output=NAN),
}
"""inf is born in exp, and NaN of it in sub; the weights' gradient is lost with it."""


def text(data: Json, **header: Any) -> str:
    whole = {"task": "statistics", "level": "mix", "framework": "pytorch", **header}
    return json.dumps({**whole, "dump_data_dir": None, "data": data}, indent=1)


def dump(folder: Path, data: Json, **companions: Json) -> Path:
    """dump.json with ``data`` in ``folder``, and construct.json or stack.json if given."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in companions.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    path = folder / "dump.json"
    path.write_text(text(data), encoding="utf-8")
    return path
