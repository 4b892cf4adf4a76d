# SPDX-License-Identifier: Apache-2.0
"""Frameworks train tiny models on the software device, through their own commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .environments import Environment
from .logs import assert_learns, json_lines, logged_losses, verl_losses
from .results import Result

Find = Callable[[str], Environment]
OWN = Path(__file__).parent / "programs"
SHARED = Path(__file__).parents[4] / "tests" / "applications" / "programs"
MODELS = (
    *("bart", "bloom", "deepseek_v3", "falcon", "gemma2", "gemma3_text", "gpt2", "gpt_neox"),
    *("llama", "mamba", "mistral", "mixtral", "opt", "phi3", "qwen2", "qwen3", "qwen3_moe", "t5"),
)
LLAMAFACTORY = {
    "lora": ("LLaMA-Factory, supervised, LoRA", 1),
    "full": ("LLaMA-Factory, supervised, full", 1),
    "dpo": ("LLaMA-Factory, DPO, full", 1),
    "zero3": ("LLaMA-Factory, supervised, full, DeepSpeed ZeRO-3", 2),
}
FSDP = "--use_fsdp --fsdp_version 2 --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP"
LAUNCHES = {
    "ddp": ("transformers' Trainer, accelerate launch", ""),
    "fsdp2": (
        "transformers' Trainer, accelerate launch, FSDP2",
        f"{FSDP} --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer",
    ),
    **{
        f"zero{stage}": (
            f"transformers' Trainer, accelerate launch, DeepSpeed ZeRO-{stage}",
            f"--use_deepspeed --zero_stage {stage}",
        )
        for stage in (1, 2, 3)
    },
}
LAUNCH = "accelerate launch --num_processes 2 --num_machines 1 --mixed_precision no"
TRL = {"sft": "TRL, SFTTrainer", "dpo": "TRL, DPOTrainer"}
DIFFUSERS = {
    "unet": "diffusers, UNet2DModel and DDPMPipeline",
    "dit": "diffusers, DiTTransformer2DModel and DiTPipeline",
}
BFLOAT16 = 0.02
"""The largest difference of a loss where the model computes in bfloat16."""
FLOAT32 = "--torch_dtype float32 --fp16 false --bf16 false"
"""ms-swift takes float16 beside the first of them alone."""
WAYS = {
    "fsdp2": ("FSDP2 (fully_shard)", 2),
    "fused-adam": ("DeepSpeed ZeRO-2 with its FusedAdam for NPUs", 2),
    "aot-eager": ('torch.compile(backend="aot_eager")', 1),
}
ERROR = re.compile(r"^\w*(?:Error|Exception): .*|Segmentation fault.*", re.MULTILINE)


def printed(environment: Environment, result: Result, *command: str, cards: int = -1) -> str:
    """What the program printed, after it has ended well; its error goes onto the page.

    It has a card for each rank, or ``cards``.
    """
    result.versions = environment.versions
    code, out, err = environment.run(result.ranks if cards < 0 else cards, *command)
    if code:
        errors = ERROR.findall(out + err)
        result.note = f"exit code {code}. {errors[-1][:200] if errors else ''}"
    assert code == 0, out[-8000:] + err[-8000:]
    return out


def assert_as_on_cpu(result: Result, found: dict[str, Any], most: float = 1e-3) -> None:
    result.losses, result.on_cpu = found["npu"], found["cpu"]
    assert result.losses[-1] < result.losses[0]
    assert result.losses == pytest.approx(result.on_cpu, abs=most)


@pytest.fixture(scope="module")
def models(environment: Find) -> tuple[str, dict[str, Any]]:
    """What the program says, and the result of each model; one process, as the imports are slow."""
    _, out, err = environment("llamafactory").run(1, "python", f"{OWN}/models.py")
    return out + err, {each["model"]: each for each in json_lines(out)}


@pytest.mark.parametrize("model", MODELS)
def test_model(environment: Find, models: Any, result: Result, model: str) -> None:
    """A model of transformers trains, and generates what it generates on the CPU."""
    result.what, result.versions = f"transformers, {model}", environment("llamafactory").versions
    said, results = models
    assert model in results, said[-8000:]
    found = results[model]
    result.note = str(found.get("error", ""))[-200:]
    assert "error" not in found, found["error"]
    assert_as_on_cpu(result, {device: found[device]["losses"] for device in ("cpu", "npu")})
    assert found["npu"]["tokens"] == found["cpu"]["tokens"]
    result.passed = True


@pytest.mark.parametrize("training", LLAMAFACTORY)
def test_llamafactory(environment: Find, result: Result, training: str) -> None:
    result.what, result.ranks = LLAMAFACTORY[training]
    command = ("sh", f"{SHARED}/llamafactory.sh", training)
    found = {"npu": logged_losses(printed(environment("llamafactory"), result, *command))}
    assert_learns(found["npu"])
    if result.ranks == 1:
        on_cpu = printed(environment("llamafactory"), result, *command, cards=0)
        assert_as_on_cpu(result, {**found, "cpu": logged_losses(on_cpu)}, BFLOAT16)
    result.losses = found["npu"]
    result.passed = True


def test_llamafactory_exports(environment: Find, result: Result) -> None:
    """The merged model has the base's tensors, of which LoRA's targets have changed."""
    result.what = "LLaMA-Factory, LoRA and export of the merged model"
    out = printed(environment("llamafactory"), result, "sh", f"{SHARED}/llamafactory.sh", "export")
    result.losses = logged_losses(out)
    [merged] = [each for each in json_lines(out) if "changed" in each]
    result.note = f"{merged['changed']} of {merged['tensors']} tensors changed"
    assert merged["tensors"] == merged["of"]
    assert 0 < merged["changed"] < merged["tensors"]
    assert merged["finite"]
    result.passed = True


def test_swift(environment: Find, result: Result) -> None:
    """In float32, as the learning rate is so high that bfloat16's rounding shows in the losses.

    In bfloat16 they differed from those on the CPU by up to 0.5, in float32 by 2e-6.
    """
    result.what = "ms-swift, supervised, LoRA, float32"
    command = ("sh", f"{SHARED}/swift.sh", *FLOAT32.split())
    found = {
        device: logged_losses(printed(environment("swift"), result, *command, cards=cards))
        for device, cards in (("npu", 1), ("cpu", 0))
    }
    assert_learns(found["npu"])
    assert_as_on_cpu(result, found)
    result.passed = True


def test_verl(environment: Find, result: Result) -> None:
    result.what = "verl, supervised trainer, FSDP engine"
    result.losses = verl_losses(printed(environment("verl"), result, "sh", f"{SHARED}/verl.sh"))
    assert_learns(result.losses)
    result.passed = True


@pytest.mark.parametrize("way", WAYS)
def test_way_of_training(environment: Find, result: Result, way: str) -> None:
    result.what, result.ranks = WAYS[way]
    launcher = ["torchrun", "--standalone", f"--nproc_per_node={result.ranks}"]
    out = printed(environment("llamafactory"), result, *launcher, f"{OWN}/training.py", way)
    [found] = json_lines(out)
    assert_as_on_cpu(result, found)
    result.passed = True


def trainer_losses(
    environment: Environment, result: Result, trainer: str, *launcher: str, cards: int = -1
) -> list[float]:
    """The losses of a trainer, which has said on which device it computes."""
    program = (f"{OWN}/trainers.py", trainer)
    out = printed(environment, result, *(launcher or ("python",)), *program, cards=cards)
    assert {"device": "npu" if cards else "cpu"} in json_lines(out)
    return logged_losses(out)


@pytest.fixture(scope="module")
def plain_on_cpu(environment: Find) -> list[float]:
    """The losses of transformers' Trainer there."""
    return trainer_losses(environment("swift"), Result("plain"), "plain", cards=0)


@pytest.mark.parametrize("way", LAUNCHES)
def test_accelerate(environment: Find, result: Result, way: str, plain_on_cpu: Any) -> None:
    """Two ranks, which share each batch of the one on the CPU."""
    result.ranks = 2
    result.what, options = LAUNCHES[way]
    launcher = [*LAUNCH.split(), "--dynamo_backend", "no", *options.split()]
    losses = trainer_losses(environment("swift"), result, "plain", *launcher)
    assert_as_on_cpu(result, {"npu": losses, "cpu": plain_on_cpu})
    result.passed = True


@pytest.mark.parametrize("trainer", TRL)
def test_trl(environment: Find, result: Result, trainer: str) -> None:
    result.what = TRL[trainer]
    found = {
        device: trainer_losses(environment("swift"), result, trainer, cards=cards)
        for device, cards in (("npu", 1), ("cpu", 0))
    }
    assert_as_on_cpu(result, found)
    result.passed = True


@pytest.mark.parametrize("model", DIFFUSERS)
def test_diffusers(environment: Find, result: Result, model: str) -> None:
    """A model trains as on the CPU, and its pipeline draws the same images."""
    result.what = DIFFUSERS[model]
    out = printed(environment("swift"), result, "python", f"{OWN}/diffusion.py", model)
    [found] = json_lines(out)
    assert_as_on_cpu(result, found)
    result.note = f"pixels differ by at most {found['difference']:.1e}"
    assert found["difference"] < 1e-3
    result.passed = True


def test_vllm(environment: Find, result: Result) -> None:
    """vLLM's engine with its plugin for Ascend generates as transformers does on the CPU."""
    result.what = 'vLLM for the device "empty", generation, eager'
    out = printed(environment("vllm"), result, "python", f"{OWN}/generating.py")
    [found] = [each for each in json_lines(out) if "npu" in each]
    tokens = sum(map(len, found["npu"]))
    result.note = f"{len(found['npu'])} prompts, {tokens} tokens as on the CPU"
    assert found["npu"] == found["cpu"]
    result.passed = True
