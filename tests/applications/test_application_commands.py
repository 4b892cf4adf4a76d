# SPDX-License-Identifier: Apache-2.0
"""Each application's own command, with a model of random weights, on the simulated device.

Needs the images, and takes minutes for each: 'nox -s applications' runs it.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"


def run(target: str, program: str, *words: str) -> str:
    """What ``program`` prints in a container of the simulated image of ``target``."""
    command = [sys.executable, "build.py", "run", "--target", target, "--simulate", "--cards", "1"]
    command += ["--mount", f"{PROGRAMS}:/applications", "--", "sh", f"/applications/{program}"]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-8000:]
    return done.stdout


def json_lines(printed: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that have a line of ``printed`` of their own."""
    for line in printed.splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:
                continue


def assert_learns(losses: list[float]) -> None:
    """The losses are finite, and the last is well below the first."""
    assert len(losses) >= 4, losses
    assert all(math.isfinite(loss) for loss in losses), losses
    assert losses[-1] < 0.9 * losses[0], losses


@pytest.mark.parametrize("finetuning", ["lora", "full"])
@pytest.mark.parametrize(
    "target",
    ["py39-torch231-cann8t39-llamafactory090", "py311-torch2100-cann910-llamafactory095-910b"],
)
def test_llamafactory_trains(target: str, finetuning: str) -> None:
    """``llamafactory-cli train``: supervised finetuning."""
    log = json_lines(run(target, "llamafactory.sh", finetuning))
    assert_learns([entry["loss"] for entry in log if "loss" in entry])


def test_swift_trains() -> None:
    """``swift sft``."""
    log = json_lines(run("py311-torch290-cann900-swift460-910b", "swift.sh"))
    assert_learns([entry["loss"] for entry in log if "loss" in entry])


def test_verl_trains() -> None:
    """verl's trainer for supervised finetuning."""
    printed = run("py311-torch2100-cann910-verl091-910b", "verl.sh")
    assert_learns([float(loss) for loss in re.findall(r"train/loss:([0-9.naif]+)", printed)])


@pytest.mark.parametrize(
    "target",
    [
        "py39-torch251-cann81rc1-vllm073",
        "py311-torch290-cann900-vllm0180-910b",
        "py311-torch2100-cann910-vllm0230-910b",
    ],
)
def test_vllm_serves(target: str) -> None:
    """``vllm serve`` answers a completion."""
    [answer] = [each for each in json_lines(run(target, "vllm.sh")) if "choices" in each]
    assert answer["usage"]["completion_tokens"] == 4
    assert answer["choices"][0]["finish_reason"] == "length"
