# SPDX-License-Identifier: Apache-2.0
"""Each application's own command, with a model of random weights, on the simulated device.

Needs the images, and takes minutes for each: 'nox -s applications' runs it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from .logs import assert_learns, json_lines, logged_losses, verl_losses

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"


def run(target: str, program: str, *words: str) -> str:
    """What ``program`` prints in a container of the simulated image of ``target``."""
    command = [sys.executable, str(ROOT / "build.py"), "run", "--target", target, "--simulate"]
    command += ["--cards", "1", "--mount", f"{PROGRAMS}:/applications"]
    command += ["--", "sh", f"/applications/{program}", *words]
    # The folders of an application's volumes are made where the command is run.
    with tempfile.TemporaryDirectory() as here:
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-20000:]
    return done.stdout


@pytest.mark.parametrize("finetuning", ["lora", "full"])
@pytest.mark.parametrize(
    "target",
    ["py39-torch231-cann8t39-llamafactory090", "py311-torch2100-cann910-llamafactory095-910b"],
)
def test_llamafactory_trains(target: str, finetuning: str) -> None:
    """``llamafactory-cli train``: supervised finetuning."""
    assert_learns(logged_losses(run(target, "llamafactory.sh", finetuning)))


def test_swift_trains() -> None:
    """``swift sft``."""
    assert_learns(logged_losses(run("py311-torch290-cann900-swift460-910b", "swift.sh")))


def test_verl_trains() -> None:
    """Its trainer for supervised finetuning."""
    assert_learns(verl_losses(run("py311-torch2100-cann910-verl091-910b", "verl.sh")))


def completion(target: str) -> dict[str, Any]:
    """The answer of ``vllm serve`` to one request."""
    [answer] = [each for each in json_lines(run(target, "vllm.sh")) if "choices" in each]
    return answer


@pytest.mark.parametrize(
    "target",
    [
        "py39-torch251-cann81rc1-vllm073",
        "py311-torch290-cann851-vllm0180-910b",
    ],
)
def test_vllm_serves(target: str) -> None:
    """``vllm serve`` answers a completion."""
    answer = completion(target)
    assert answer["usage"]["completion_tokens"] == 4
    assert answer["choices"][0]["finish_reason"] == "length"


def test_vllm_0230_needs_triton_ascend() -> None:
    """It serves with a Triton kernel, so without triton-ascend every completion is an error."""
    with pytest.raises(AssertionError, match="_compute_slot_mapping_kernel") as failed:
        completion("py311-torch2100-cann910-vllm0230-910b")
    assert "HTTP Error 500" in str(failed.value)
