# SPDX-License-Identifier: Apache-2.0
"""Combinations that sources decide: each was written from its source before it was judged.

A trap is refused with the words; a good one is allowed. What a source says is in the name.
"""

from __future__ import annotations

from typing import Any

import pytest

from cannery.common.bases import Base
from tests.policy.conftest import TARGETS
from tests.unit.compat_targets import cann, changed, file_of, problems, python

BASES: dict[str, Base] = {each.base.name: each.base for each in TARGETS.values()}
APPLICATIONS = {a.name: a for each in TARGETS.values() if (a := each.application)}
FILES = {name: file_of("triton_ascend", name) for name in ("3.2.1", "3.2.2", "3.6.0")}
"""triton-ascend that a target takes from a file."""


def judged(
    npu: str,
    release: str,
    minor: str = "3.11",
    *,
    chip: str = "910b",
    base: str = "debian-12",
    triton: str = "",
    app: str = "",
    **more: Any,
) -> list[str]:
    """The problems of torch_npu ``npu`` on CANN ``release`` with what else is named."""
    torch = npu.partition(".post")[0].partition("rc")[0]
    extras = {"triton_ascend": triton} if triton else {}
    application = APPLICATIONS[app] if app else None
    shared = application.requirements if application else ()
    target = changed(
        base=BASES[base],
        python=python(f"{minor}.9"),
        cann=cann(release, chip=chip),
        chip=chip,
        torch=more.pop("torch", torch),
        torch_npu=npu,
        apex=None,
        deepspeed=more.pop("deepspeed", ""),
        extras={**extras, **more.pop("extras", {})},
        triton_ascend_wheel=FILES.get(triton),
        application=application,
        requirements=(*shared, *more.pop("requirements", ())),
        **more,
    )
    return problems(target)


TRAPS: dict[str, tuple[dict[str, Any], str]] = {
    # Requires-Dist and tags of wheels.
    "torch_npu 2.11.0 has no wheel for 3.14, though its table names it": (
        {"npu": "2.11.0", "release": "9.1.0", "minor": "3.14"},
        "torch_npu 2.11.0 has no wheel for Python 3.14",
    ),
    "torch_npu 2.12.0 neither": (
        {"npu": "2.12.0", "release": "9.1.0", "minor": "3.14"},
        "torch_npu 2.12.0 has no wheel for Python 3.14",
    ),
    "torch_npu 2.9.1 has wheels up to 3.13": (
        {"npu": "2.9.1", "release": "9.0.0", "minor": "3.14"},
        "torch_npu 2.9.1 has no wheel for Python 3.14",
    ),
    "torch_npu 2.9.0.post4 has none for 3.9": (
        {"npu": "2.9.0.post4", "release": "9.0.0", "minor": "3.9"},
        "torch_npu 2.9.0.post4 has no wheel for Python 3.9",
    ),
    "torch_npu 2.7.1 has wheels up to 3.11": (
        {"npu": "2.7.1", "release": "8.3.RC1", "minor": "3.13"},
        "torch_npu 2.7.1 has no wheel for Python 3.13",
    ),
    "torch_npu 2.1.0.post6 has wheels up to 3.10": (
        {"npu": "2.1.0.post6", "release": "8.0.RC2", "minor": "3.11"},
        "torch_npu 2.1.0.post6 has no wheel for Python 3.11",
    ),
    "torch_npu 2.14.0 is for torch 2.14.0, not 2.14.1": (
        {"npu": "2.14.0", "release": "9.2.0", "torch": "2.14.1"},
        "was built for torch 2.14.0 and cannot be imported with torch 2.14.1",
    ),
    "torchvision 0.28.0 is for torch 2.13.0": (
        {"npu": "2.14.0", "release": "9.2.0", "extras": {"torchvision": "0.28.0"}},
        "'torchvision==0.28.0' is not known to work",
    ),
    "torchvision 0.29.0 is for torch 2.14": (
        {"npu": "2.13.0", "release": "9.2.0", "extras": {"torchvision": "0.29.0"}},
        "'torchvision==0.29.0' is not known to work",
    ),
    "SGLang 0.5.23 requires torch 2.14.1": (
        {"npu": "2.14.0", "release": "9.2.0", "requirements": ("sglang==0.5.23",)},
        "the wheels of SGLang 0.5.22 and 0.5.23 require torch 2.14.1",
    ),
    "SGLang 0.5.22 has no wheel for 3.10": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "minor": "3.10",
            "requirements": ("sglang==0.5.22",),
        },
        "sglang 0.5.22 has no wheel for Python 3.10",
    ),
    "SGLang's wheels need glibc 2.34": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "base": "debian-11",
            "requirements": ("sglang==0.5.20",),
        },
        "the wheels of sglang 0.5.20 in package indexes are for glibc 2.34 or newer",
    ),
    "Mooncake's wheels need glibc 2.35": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "base": "openeuler-22.03",
            "extras": {"mooncake": "0.3.13"},
        },
        "are for glibc 2.35 or newer",
    ),
    "MindSpore 2.10.0 has wheels up to 3.12": (
        {
            "npu": "",
            "release": "9.1.0",
            "minor": "3.13",
            "requirements": ("mindspore==2.10.0",),
        },
        "mindspore 2.10.0 has no wheel for Python 3.13",
    ),
    # vllm-ascend: its table, its wheels, its branches and sdists.
    "vLLM 0.18.0 on CANN 9.0.0 has triton-ascend 3.2.1": (
        {"npu": "2.9.0.post2", "release": "9.0.0", "triton": "3.2.0", "app": "vllm-0.18.0"},
        "'triton-ascend==3.2.0' is not known to work; triton-ascend==3.2.1 is",
    ),
    "and on CANN 8.5.1 3.2.0": (
        {"npu": "2.9.0.post2", "release": "8.5.1", "triton": "3.2.1", "app": "vllm-0.18.0"},
        "'triton-ascend==3.2.1' is not known to work; triton-ascend==3.2.0 is",
    ),
    "no source has vLLM 0.18.0 on CANN 9.1.0": (
        {"npu": "2.9.0.post6", "release": "9.1.0", "triton": "3.2.1", "app": "vllm-0.18.0"},
        "'vllm-ascend==0.18.0' is not known to go with",
    ),
    "vLLM 0.18.0's wheels are for A2": (
        {
            "npu": "2.9.0.post2",
            "release": "9.0.0",
            "triton": "3.2.1",
            "app": "vllm-0.18.0",
            "chip": "a3",
        },
        "its wheels in package indexes are for 910b (A2)",
    ),
    "vLLM 0.23.0 with triton-ascend 3.2.1": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "triton": "3.2.1", "app": "vllm-0.23.0"},
        "'triton-ascend==3.2.1' is not known to work; triton-ascend==3.2.2 is",
    ),
    "vLLM 0.23.0 on CANN 9.0.0": (
        {"npu": "2.10.0", "release": "9.0.0", "triton": "3.2.2", "app": "vllm-0.23.0"},
        "'vllm-ascend==0.23.0' is not known to go with",
    ),
    "vLLM 0.23.0 without NNAL": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "triton": "3.2.2",
            "app": "vllm-0.23.0",
            "with_nnal": False,
        },
        "a worker of vllm-ascend loads libatb.so of NNAL",
    ),
    "vLLM 0.23.0 without triton-ascend": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "app": "vllm-0.23.0"},
        "no requirement keeps triton-ascend at triton-ascend==3.2.2",
    ),
    "vllm-ascend 0.23.0.post1 is an sdist": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "triton": "3.2.2",
            "requirements": ("vllm-ascend==0.23.0.post1",),
        },
        "package indexes have only its sdist",
    ),
    "vllm-ascend 0.27.1rc1 is an sdist": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "triton": "3.2.2",
            "requirements": ("vllm-ascend==0.27.1rc1",),
        },
        "package indexes have only sdists of its candidates",
    ),
    "vllm-ascend 0.30.0rc2 is an sdist": (
        {
            "npu": "2.10.0.post4",
            "release": "9.2.0",
            "triton": "3.2.2",
            "requirements": ("vllm-ascend==0.30.0rc2",),
        },
        "package indexes have only sdists of its candidates",
    ),
    "vllm-ascend 0.26.0rc1 on CANN 9.0.1": (
        {
            "npu": "2.10.0.post2",
            "release": "9.0.1",
            "triton": "3.2.2",
            "requirements": ("vllm-ascend==0.26.0rc1",),
        },
        "'vllm-ascend==0.26.0rc1' is not known to go with",
    ),
    "vllm-ascend 0.25.1rc1 has triton-ascend 3.2.1": (
        {
            "npu": "2.10.0.post2",
            "release": "9.0.1",
            "triton": "3.2.2",
            "requirements": ("vllm-ascend==0.25.1rc1",),
        },
        "'triton-ascend==3.2.2' is not known to",
    ),
    "vllm-ascend 0.24.0rc1 needs transformers 5.13.0": (
        {
            "npu": "2.10.0.post2",
            "release": "9.0.1",
            "triton": "3.2.1",
            "requirements": ("vllm-ascend==0.24.0rc1", "transformers==5.5.4"),
        },
        "'transformers==5.5.4' is not known to work; transformers==5.13.0 is",
    ),
    "vllm-ascend's wheels of 0.26.0rc1 need glibc 2.34": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "base": "debian-11",
            "triton": "3.2.2",
            "requirements": ("vllm-ascend==0.26.0rc1",),
        },
        "the wheels of vllm-ascend 0.26.0rc1 in package indexes are for glibc 2.34",
    ),
    # Kernels, chips and drivers of releases.
    "CANN 8.5.0 has no kernels for 950": (
        {"npu": "2.9.0", "release": "8.5.0", "chip": "950"},
        "CANN 8.5.0 is not known to have kernels for chip 950",
    ),
    "CANN 9.2.0 has none for 910": (
        {"npu": "2.10.0.post7", "release": "9.2.0", "chip": "910"},
        "CANN 9.2.0 is not known to have kernels for chip 910",
    ),
    "torch_npu 2.9.0 is older than 950": (
        {"npu": "2.9.0", "release": "9.1.0", "chip": "950"},
        "torch_npu 2.9.0 and torch 2.9.0 are not known to work on CANN 9.1.0",
    ),
    # DeepSpeed, apex and other packages by their makers.
    "DeepSpeed 0.15.0 is older than torch 2.10": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "deepspeed": "0.15.0"},
        "deepspeed 0.15.0 is not known to work with torch 2.10.0",
    ),
    "DeepSpeed 0.6.0 imports torch._six": (
        {"npu": "2.7.1.post8", "release": "9.1.0", "deepspeed": "0.6.0"},
        "it imports torch._six",
    ),
    "flash-attn is for CUDA": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "requirements": ("flash-attn",)},
        "it is compiled for CUDA",
    ),
    "triton hides triton-ascend": (
        {"npu": "2.10.0.post4", "release": "9.1.0", "requirements": ("triton==3.5.0",)},
        "it is for CUDA and hides triton-ascend",
    ),
    "triton beside triton-ascend 3.2.2 overwrites it": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "triton": "3.2.2",
            "requirements": ("triton==3.5.0",),
        },
        "its files overwrite those of triton-ascend",
    ),
    "triton-ascend compiles at run time": (
        {
            "npu": "2.10.0.post4",
            "release": "9.1.0",
            "triton": "3.2.2",
            "without_compiler": True,
        },
        "it calls g++ or clang++",
    ),
    "msprobe 26.1.0 aborts beside torch 2.9": (
        {"npu": "2.9.0.post6", "release": "9.1.0", "extras": {"msprobe": "26.1.0"}},
        "its extension aborts as it is loaded",
    ),
    "LLaMA-Factory 0.9.5 needs Python 3.11": (
        {
            "npu": "2.7.1.post4",
            "release": "9.0.0",
            "minor": "3.10",
            "app": "llamafactory-0.9.5",
        },
        "by its own metadata",
    ),
}

GOOD: dict[str, dict[str, Any]] = {
    "vLLM 0.18.0 of its own branch for CANN 9.0.0": {
        "npu": "2.9.0.post2",
        "release": "9.0.0",
        "triton": "3.2.1",
        "app": "vllm-0.18.0",
    },
    "vLLM 0.23.0 as in its table": {
        "npu": "2.10.0.post4",
        "release": "9.1.0",
        "triton": "3.2.2",
        "app": "vllm-0.23.0",
    },
    "vllm-ascend 0.26.0rc1 has wheels": {
        "npu": "2.10.0.post4",
        "release": "9.1.0",
        "triton": "3.2.2",
        "requirements": ("vllm-ascend==0.26.0rc1",),
    },
    "vllm-ascend 0.25.1rc1 has wheels": {
        "npu": "2.10.0.post2",
        "release": "9.0.1",
        "triton": "3.2.1",
        "requirements": ("vllm-ascend==0.25.1rc1", "triton==3.5.0"),
    },
    "torchvision 0.29.2 requires torch 2.14.0 or newer": {
        "npu": "2.14.0",
        "release": "9.2.0",
        "extras": {"torchvision": "0.29.2"},
    },
    "torch_npu 2.9.1 for 3.13": {"npu": "2.9.1", "release": "9.0.0", "minor": "3.13"},
    "torch_npu 2.7.1.post6 is TorchNPU 26.0.1": {"npu": "2.7.1.post6", "release": "9.0.0"},
    "torch_npu 2.8.0.post5 too": {"npu": "2.8.0.post5", "release": "9.0.0"},
    "torch_npu 2.9.0.post4 too": {"npu": "2.9.0.post4", "release": "9.0.0"},
    "images of CANN 9.2.0 for 310p": {
        "npu": "2.10.0.post7",
        "release": "9.2.0",
        "chip": "310p",
    },
    "LLaMA-Factory 0.9.5 as released": {
        "npu": "2.7.1.post4",
        "release": "9.0.0",
        "deepspeed": "0.18.4",
        "app": "llamafactory-0.9.5",
    },
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_is_refused(name: str) -> None:
    given, words = TRAPS[name]
    said = judged(**given)
    assert any(words in each for each in said), said


@pytest.mark.parametrize("name", GOOD)
def test_what_a_source_has_is_allowed(name: str) -> None:
    assert judged(**GOOD[name]) == []


def test_there_are_forty_traps() -> None:
    assert len(TRAPS) == 40
