# SPDX-License-Identifier: Apache-2.0
"""Runs operators of torch's OpInfo on the simulated device; needs torch and torch_npu.

    python -m conformance.operators.worker list
    python -m conformance.operators.worker run forward|backward SEED

Of each operator and type, SEED draws SAMPLES of OpInfo's samples, and their values. Each line of
stdin is FIRST LAST DONE: two indexes of OpInfo's list, and how many cases of the first operator to
leave out. A child carries it out, for which nothing is imported again. It prints a line of JSON
before a case and one after it, so that a crash or a hang can be charged to it; a last line has its
exit code. An error of torch_npu's queue ends it with POISONED, because no later result of that
process means anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

from conformance.operators.comparison import (
    described,
    determined,
    fits,
    is_random,
    name_of,
    same_types,
    whole,
)

TYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64)
SAMPLES = 3
KNOWN = 200
"""As many of OpInfo's samples are made; a few operators have thousands."""
POISONED = 75
EXACT = {torch.float32: torch.float64, torch.bfloat16: torch.float64}
EXACT[torch.complex64] = torch.complex128


def moved(value: Any, device: str, dtype: torch.dtype | None = None) -> Any:
    """The same nested values, with tensors copied to a device and floats to another type."""

    def move(item: Any) -> Any:
        if not isinstance(item, torch.Tensor) or getattr(item, "_stays", False):
            return item
        inexact = item.is_floating_point() or item.is_complex()
        copy = item.detach().clone()
        copy = copy.to(device, widened(item.dtype, dtype)) if dtype and inexact else copy.to(device)
        return copy.requires_grad_(item.requires_grad)

    return tree_map(move, value)


def widened(own: torch.dtype, wanted: torch.dtype) -> torch.dtype:
    """The exact type of a tensor beside one of another type, as a real beside complex numbers."""
    return torch.complex128 if own.is_complex else torch.float64 if wanted.is_complex else wanted


def tensors(value: Any) -> list[torch.Tensor]:
    return [item for item in tree_flatten(value)[0] if isinstance(item, torch.Tensor)]


def forward(op: Any, sample: Any, device: str, dtype: torch.dtype | None = None) -> list[Any]:
    """The tensors that an operator returns."""
    torch.manual_seed(3)
    parts = moved((sample.input, list(sample.args), dict(sample.kwargs)), device, dtype)
    result = op(parts[0], *parts[1], **parts[2])
    if device == "npu":
        torch.npu.synchronize()  # a non-blocking copy to the CPU may not have ended
    return [item.detach().cpu() for item in tensors(result)]


def backward(op: Any, sample: Any, device: str, dtype: torch.dtype | None = None) -> list[Any]:
    """The gradients of an operator's inputs."""
    torch.manual_seed(3)
    parts = moved((sample.input, list(sample.args), dict(sample.kwargs)), device, dtype)
    result = op(parts[0], *parts[1], **parts[2])
    result = sample.output_process_fn_grad(result)
    inputs = [item for item in tensors(parts) if item.requires_grad]
    outputs = [item for item in tensors(result) if item.requires_grad]
    total = sum((out.abs() if out.is_complex() else out).sum() for out in outputs)
    grads = torch.autograd.grad(total, inputs, allow_unused=True)
    return [grad.detach().cpu() for grad in grads if grad is not None]


def judged(op: Any, sample: Any, dtype: torch.dtype, compute: Any) -> str | None:
    """'pass', or why not; None where the CPU does not do it either."""
    try:
        expected = compute(op, sample, "cpu")
    except Exception:  # noqa: BLE001 - whatever it is, there is nothing to compare with
        return None
    if compute is backward and not expected:
        return None
    try:
        found = compute(op, sample, "npu")
    except Exception as error:  # noqa: BLE001 - each is a finding
        return reason(error)
    return compared(op, sample, dtype, compute, (found, expected))


def compared(op: Any, sample: Any, dtype: torch.dtype, compute: Any, values: Any) -> str:
    """'pass' where the device agrees with the CPU in this type or in an exact one.

    'other type' where only the types of the results differ: torch_npu chooses them.
    """
    raw, expected = ([whole(x) for x in part] for part in values)
    if is_random(op, sample):
        same = [a.shape for a in raw] == [b.shape for b in expected]
        return "pass" if same else "wrong: shapes"
    found, difference = determined(op, sample, raw), f"{described(raw)} not {described(expected)}"
    right = fits(found, determined(op, sample, expected), dtype)
    if not right:
        with contextlib.suppress(Exception):
            exact = [whole(x) for x in compute(op, sample, "cpu", EXACT.get(dtype))]
            right = fits(found, determined(op, sample, exact), dtype)
    if not right:
        return f"wrong: {difference}"
    return "pass" if same_types(raw, expected) else f"other type: {difference}"


def reason(error: Exception) -> str:
    """The device's own words, where the error has them."""
    text = f"{type(error).__name__}: {error}"
    own = re.search(r"npusim: [^\n]*", text)
    inner = "Inner error: " if "Inner error" in text else ""
    return inner + (own[0] if own else text)


def cases(op: Any, way: str, seed: str) -> Iterator[tuple[str, Any, torch.dtype]]:
    for dtype in TYPES if way == "forward" else TYPES[:1]:
        if dtype not in op.supported_dtypes("cpu") or (
            way == "backward" and not op.supports_autograd
        ):
            continue
        drawn = random.Random(f"{seed} {name_of(op)} {dtype}")  # noqa: S311
        torch.manual_seed(drawn.getrandbits(32))
        try:
            samples = list(
                islice(op.sample_inputs("cpu", dtype, requires_grad=way == "backward"), KNOWN)
            )
        except Exception:  # noqa: BLE001, S112 - no samples of this type
            continue
        numbers = range(len(samples))
        for number in sorted(drawn.sample(numbers, min(SAMPLES, len(numbers)))):
            sample = samples[number]
            if op.name == "tensor_split":  # its sections are read by the CPU on every device
                for item in tensors(list(sample.args)):
                    item._stays = True
            yield f"{str(dtype)[6:]}[{number}]", sample, dtype


def run(way: str, seed: str, first: int, last: int, done: int) -> None:
    """Print what becomes of each case."""
    compute = forward if way == "forward" else backward
    for op in op_db[first:last]:
        for label, sample, dtype in islice(cases(op, way, seed), done, None):
            say(operator=name_of(op), case=label)
            result = judged(op, sample, dtype, compute)
            say(result=result and result[:400])
            if result and "Inner error" in result:
                sys.stdout.flush()
                os._exit(POISONED)
        done = 0
        say(finished=name_of(op))


def say(**line: str | int | None) -> None:
    print(json.dumps(line), flush=True)


def serve(way: str, seed: str) -> None:
    """Have each line of stdin carried out, one after another."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(way, seed, *map(int, line.split()))
            os._exit(0)
        say(ended=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def main() -> None:
    """Run as a program."""
    if sys.argv[1:] == ["list"]:
        print(json.dumps([name_of(op) for op in op_db]))
        return
    import torch_npu  # noqa: F401 - makes the device known

    serve(*sys.argv[2:])


if __name__ == "__main__":
    main()
