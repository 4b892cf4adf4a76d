# SPDX-License-Identifier: Apache-2.0
"""Run on a simulated host by the Python of a torch_npu: prints each check's result as JSON.

Python 3.9 and torch 2.1 are enough, and nothing else is needed.
"""

import json
import re
import subprocess

from conformance.usage.processes import CARDS, RankError, on_ranks

STEPS = 8
TOLERANCE = 1e-3


def say(check: str, result: str) -> None:
    """``pass``, or why not."""
    print("check: " + json.dumps([check, result]), flush=True)


def available() -> str:
    """torch_npu finds the cards that are simulated."""
    import torch
    import torch_npu

    if not torch.npu.is_available():
        return "torch.npu.is_available() is False"
    count = torch_npu.npu.device_count()
    return "pass" if count == CARDS else f"{count} devices, and {CARDS} are simulated"


def matmul() -> str:
    """A product is the CPU's in float64."""
    import torch

    torch.manual_seed(1)
    left, right = torch.randn(64, 48), torch.randn(48, 32)
    error = ((left.npu() @ right.npu()).cpu().double() - left.double() @ right.double()).abs().max()
    return "pass" if float(error) < TOLERANCE else f"off by {float(error):.1e}"


def training() -> str:
    """The losses of a small model with AdamW are those of the CPU, and fall."""
    losses = {device: losses_on(device) for device in ("cpu", "npu:0")}
    on_cpu, on_npu = losses["cpu"], losses["npu:0"]
    worst = max(abs(one - other) for one, other in zip(on_cpu, on_npu))
    if not worst < TOLERANCE:
        return f"the losses are off by {worst:.1e}"
    return "pass" if on_npu[-1] < on_npu[0] else "the losses do not fall"


def losses_on(device: str) -> "list[float]":
    """One for each step."""
    import torch

    torch.manual_seed(2)
    inputs = torch.randn(32, 8)
    wanted = (inputs.sum(1, keepdim=True) / 4).to(device)
    layers = torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 1)
    model, inputs = torch.nn.Sequential(*layers).to(device), inputs.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), wanted)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach().cpu()))
    return losses


def all_reduce() -> str:
    """Two ranks have the sum. They are forked, since importing torch takes most of the time."""
    import torch_npu  # noqa: F401 - the ranks have it, and no device yet

    said = on_ranks(sum_of_ranks)
    return "pass" if all("sum is right" in text for text in said) else "the sum is wrong"


def sum_of_ranks(rank: int, address: str) -> None:
    """What a rank does."""
    import torch
    import torch.distributed as dist

    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=address, rank=rank, world_size=CARDS)
    values = torch.arange(8.0).npu() + rank
    dist.all_reduce(values)
    print("sum is right" if values.cpu().tolist() == [2.0 * n + 1 for n in range(8)] else "wrong")
    dist.destroy_process_group()


def npu_smi() -> str:
    """It shows the cards."""
    done = subprocess.run(["npu-smi", "info"], capture_output=True, text=True, check=False)
    rows = len(re.findall(r"^\| \d+ +910B3 ", done.stdout, flags=re.MULTILINE))
    if done.returncode or rows != CARDS:
        return f"exit code {done.returncode}, {rows} cards"
    return "pass"


# The ranks first: a process that has used a device cannot be forked.
CHECKS = (all_reduce, available, matmul, training, npu_smi)


def main() -> None:
    """Run as a program."""
    for check in CHECKS:
        try:
            result = check()
        except Exception as error:  # noqa: BLE001 - every failure is a result
            named = "" if isinstance(error, RankError) else f"{type(error).__name__}: "
            result = f"{named}{str(error).strip().splitlines()[0]}"
        say(check.__name__, result)


if __name__ == "__main__":
    main()
