# SPDX-License-Identifier: Apache-2.0
"""Forty more traps, each written from the document above it before it was judged.

A trap is refused with a message that names the words; a good one of the same documents is allowed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy.test_policy_traps import judged
from tests.unit.compat_targets import cann

Traps = dict[str, tuple[dict[str, Any], str]]


def vllm(version: str, npu: str, release: str, **more: Any) -> dict[str, Any]:
    """A target with the plugin of vLLM in this version."""
    asked = (f"vllm-ascend=={version}", *more.pop("requirements", ()))
    return {"npu": npu, "release": release, "requirements": asked, **more}


def with_packages(*requirements: str, **more: Any) -> dict[str, Any]:
    """A target that is right but for these requirements."""
    usual = {"npu": "2.10.0.post4", "release": "9.1.0"}
    return {**usual, **more, "requirements": requirements}


# versioning_policy.md and requirements of the sdists of vllm-ascend 0.23.0 and 0.30.0rc2.
OF_VLLM: Traps = {
    "vLLM 0.13.0 is on CANN 8.5.0": (vllm("0.13.0", "2.8.0", "8.3.RC2"), "vllm-ascend==0.13.0"),
    "0.20.2rc1 is for Python below 3.12": (
        vllm("0.20.2rc1", "2.10.0", "9.0.0", minor="3.12", triton="3.2.1"),
        "Python 3.12",
    ),
    "0.22.1rc1 has triton-ascend 3.2.1": (
        vllm("0.22.1rc1", "2.10.0", "9.0.0", triton="3.2.2"),
        "triton-ascend==3.2.2",
    ),
    "0.21.0rc1 is on CANN 9.0.0": (
        vllm("0.21.0rc1", "2.10.0.post4", "9.1.0", triton="3.2.1"),
        "vllm-ascend==0.21.0rc1",
    ),
    "0.15.0rc1 has torch 2.9.0": (
        vllm("0.15.0rc1", "2.8.0.post2", "8.5.0", triton="3.2.0"),
        "vllm-ascend==0.15.0rc1",
    ),
    "0.14.0rc1 has triton-ascend 3.2.0": (
        vllm("0.14.0rc1", "2.9.0", "8.5.0", triton="3.2.1"),
        "triton-ascend==3.2.1",
    ),
    "0.9.1 is on CANN 8.2.RC1": (vllm("0.9.1", "2.5.1", "8.1.RC1"), "vllm-ascend==0.9.1"),
    "0.23.0rc1 has torch_npu 2.10.0.post2 on CANN 9.0.1": (
        vllm("0.23.0rc1", "2.10.0.post4", "9.1.0", triton="3.2.2"),
        "vllm-ascend==0.23.0rc1",
    ),
    "0.19.1rc1 is on CANN 8.5.1": (
        vllm("0.19.1rc1", "2.9.0.post2", "9.0.0", triton="3.2.1"),
        "vllm-ascend==0.19.1rc1",
    ),
    "0.23.0 has Mooncake 0.3.11.post1": (
        vllm("0.23.0", "2.10.0.post4", "9.1.0", triton="3.2.2", extras={"mooncake": "0.3.13"}),
        "mooncake",
    ),
    "0.23.0 requires transformers 5.5.4": (
        vllm("0.23.0", "2.10.0.post4", "9.1.0", triton="3.2.2", requirements=("transformers<5",)),
        "transformers<5",
    ),
    "0.23.0 requires fastapi below 0.124": (
        vllm("0.23.0", "2.10.0.post4", "9.1.0", triton="3.2.2", requirements=("fastapi==0.125.0",)),
        "fastapi==0.125.0",
    ),
    "vLLM's own wheel is for CUDA": (with_packages("vllm==0.23.0"), "vllm==0.23.0"),
}

# The descriptions of torch_npu's wheels (2.9.0, 2.12.0), and the release notes of TorchNPU 26.2.0.
OF_TORCH_NPU: Traps = {
    "torch_npu 2.12.0rc1 is on CANN 8.5.0": (
        {"npu": "2.12.0rc1", "release": "9.1.0"},
        "torch_npu 2.12.0rc1",
    ),
    "2.10.0rc2 is for Python up to 3.12": (
        {"npu": "2.10.0rc2", "release": "8.5.0", "minor": "3.13"},
        "Python 3.13",
    ),
    "2.9.0 too": ({"npu": "2.9.0", "release": "8.5.0", "minor": "3.13"}, "Python 3.13"),
    "2.6.0 is on CANN 8.2.RC1": ({"npu": "2.6.0", "release": "8.5.0"}, "torch_npu 2.6.0"),
    "2.5.1 is on CANN 8.1.RC1": ({"npu": "2.5.1", "release": "8.5.0"}, "torch_npu 2.5.1"),
    "2.9.0.post2 is not for torch 2.9.1": (
        {"npu": "2.9.0.post2", "release": "9.0.0", "torch": "2.9.1"},
        "built for torch 2.9.0",
    ),
    "triton-ascend 3.6.0 is not for CANN 9.1.0": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "triton": "3.6.0"},
        "triton-ascend==3.6.0",
    ),
    "2.7.1.post11 has triton-ascend 3.2.2": (
        {"npu": "2.7.1.post11", "release": "9.2.0", "triton": "3.6.0"},
        "triton-ascend==3.6.0",
    ),
    "torchaudio 2.9.0 is for torch 2.9.0": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "extras": {"torchaudio": "2.9.0"}},
        "torchaudio==2.9.0",
    ),
    "torchvision 0.24.0 is for torch 2.9.0": (
        {"npu": "2.9.1", "release": "9.0.0", "extras": {"torchvision": "0.24.0"}},
        "torchvision==0.24.0",
    ),
}

# Release notes of CANN 9.0.1, 9.1.0 and 9.1.1, and the files of releases that were seen.
OF_CANN: Traps = {
    "operators 9.1.0 go on CANN 8.5.2, 9.0.0 and 9.1.0": (
        {"npu": "2.10.0.post2", "release": "9.0.1", "kernels_release": cann("9.1.0")},
        "9.1.0",
    ),
    "operators 9.0.1 go on no later CANN": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "kernels_release": cann("9.0.1")},
        "9.0.1",
    ),
    "operators 8.5.1 go on their own CANN": (
        {"npu": "2.9.0.post2", "release": "9.0.0", "kernels_release": cann("8.5.1")},
        "8.5.1",
    ),
    "CANN 8.5.2 has no operators for 950": (
        {"npu": "2.9.0", "release": "8.5.2", "chip": "950"},
        "chip 950",
    ),
    "CANN 8.0.0 has none for A3": (
        {"npu": "2.4.0.post2", "release": "8.0.0", "chip": "a3", "minor": "3.10"},
        "chip a3",
    ),
    "CANN 9.1.0 has none for 310B": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "chip": "310b"},
        "chip 310b",
    ),
    "CANN 8.2.RC1 needs numpy 1": (
        with_packages("numpy>=2", npu="2.6.0", release="8.2.RC1"),
        "numpy>=2",
    ),
}

# README.md, setup.py and plugins of DeepSpeed's tags.
OF_DEEPSPEED: Traps = {
    "DeepSpeed 0.10.0 has no operators for the NPU": (
        {"npu": "2.1.0.post13", "release": "8.2.RC1", "minor": "3.10", "deepspeed": "0.10.0"},
        "neither detection nor op_builder/npu",
    ),
    "0.9.2 with its plugin is older than torch 2.3": (
        {"npu": "2.3.1.post6", "release": "8.1.RC1", "minor": "3.9", "deepspeed": "0.9.2"},
        "deepspeed 0.9.2",
    ),
    "0.16.9 is older than torch 2.10": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "deepspeed": "0.16.9"},
        "deepspeed 0.16.9",
    ),
    "0.14.3 is older than Python 3.12": (
        {"npu": "2.9.0.post6", "release": "9.1.0", "minor": "3.12", "deepspeed": "0.14.3"},
        "deepspeed 0.14.3",
    ),
}

# Metadata of wheels of applications, and the tables of MindSpore Transformers.
OF_APPLICATIONS: Traps = {
    "LLaMA-Factory 0.9.5 needs torch 2.4": (
        with_packages("llamafactory==0.9.5", npu="2.3.1.post6", release="8.1.RC1"),
        "llamafactory 0.9.5",
    ),
    "verl 0.9.1 needs Python 3.10": (
        with_packages("verl==0.9.1", npu="2.7.1.post8", minor="3.9"),
        "verl 0.9.1",
    ),
    "SGLang 0.5.15 requires torch 2.11.0": (
        with_packages("sglang==0.5.15"),
        "SGLang 0.5.11 to 0.5.17 require torch 2.11.0",
    ),
    "and its server sgl_kernel_npu": (
        with_packages("sglang==0.5.15", npu="2.11.0.post2", release="9.1.1"),
        "sgl_kernel_npu",
    ),
    "MindSpore 2.10.0 is on CANN 9.1.0": (
        with_packages("mindspore==2.10.0", npu="", release="9.0.0"),
        "mindspore==2.10.0",
    ),
    "MindFormers 2.1.0 requires MindSpore 2.11": (
        with_packages("mindspore==2.10.0", "mindformers==2.1.0", npu=""),
        "mindformers==2.1.0",
    ),
}

TRAPS: Traps = {**OF_VLLM, **OF_TORCH_NPU, **OF_CANN, **OF_DEEPSPEED, **OF_APPLICATIONS}

GOOD: dict[str, dict[str, Any]] = {
    # Dockerfile.ascend_9.1.0_a2 of verl at 1dda039.
    "nvidia-modelopt is Python, and verl's image has it": with_packages(
        "nvidia-modelopt>=0.37.0", "flash-linear-attention==0.5.0"
    ),
    # The guide of ms-swift for NPUs at 3602360, and Dockerfile.ascend of modelscope.
    "ms-swift 4.6.0 with vLLM 0.18.0 and DeepSpeed 0.18.9": vllm(
        "0.18.0",
        "2.9.0.post2",
        "9.0.0",
        triton="3.2.1",
        deepspeed="0.18.9",
        requirements=("ms-swift==4.6.0",),
    ),
    "vllm-ascend 0.24.0rc1 of its table": vllm(
        "0.24.0rc1", "2.10.0.post2", "9.0.1", triton="3.2.1", requirements=("triton==3.5.0",)
    ),
    "vllm-ascend 0.19.1rc1 of its table": vllm("0.19.1rc1", "2.9.0", "8.5.1", triton="3.2.0"),
    "operators 9.1.1 on CANN 9.0.1": {
        "npu": "2.10.0.post2",
        "release": "9.0.1",
        "kernels_release": cann("9.1.1"),
    },
    "torch_npu 2.10.0.post7 with triton-ascend 3.6.0": {
        "npu": "2.10.0.post7",
        "release": "9.2.0",
        "triton": "3.6.0",
    },
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_of_a_document_is_refused(name: str) -> None:
    given, words = TRAPS[name]
    said = judged(**given)
    assert any(words.lower() in each.lower() for each in said), said


@pytest.mark.parametrize("name", GOOD)
def test_what_the_same_documents_have_is_allowed(name: str) -> None:
    assert judged(**GOOD[name]) == []


def test_there_are_forty_more_traps() -> None:
    assert len(TRAPS) == 40
